// Waiting for a word: a futex on Linux and its like on macOS, which the standard library uses.
#include "../platform.h"

namespace rlx::platform {

void sleep_while(const std::atomic<uint32_t>& word, uint32_t old) { word.wait(old, std::memory_order_acquire); }
void wake_one(std::atomic<uint32_t>& word) { word.notify_one(); }
void wake_all(std::atomic<uint32_t>& word) { word.notify_all(); }

}  // namespace rlx::platform
