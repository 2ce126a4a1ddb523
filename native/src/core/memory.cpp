#include "memory.h"

#include "error.h"
#include "platform/platform.h"

namespace rlx {

Pages::Pages(size_t bytes) : bytes_(align_up(bytes == 0 ? 1 : bytes, platform::page_size())) {
  data_ = platform::map_zeroed(bytes_);
  if (data_ == nullptr) fail(Code::env_no_memory, "[memory] cannot reserve %zu bytes: the system refused", bytes_);
}

Pages::~Pages() {
  if (data_ != nullptr) platform::unmap(data_, bytes_);
}

void Pages::reserve(size_t bytes) {
  if (bytes > bytes_) *this = Pages(bytes);
}

void Pages::clear() {
  if (bytes_ != 0) *this = Pages(bytes_);
}

}  // namespace rlx
