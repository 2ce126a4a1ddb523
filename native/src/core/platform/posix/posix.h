// What Linux and macOS share, and where they differ in it.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

namespace rlx::platform {

// Address space that begins at a multiple of 2 MB, or null.
uint8_t* reserve_huge(size_t bytes);

// Asks for pages of 2 MB: fewer page faults and TLB misses. Harmless where the system has none.
void advise_huge(void* data, size_t bytes);
// The last write, in nanoseconds since 1970.
int64_t modified_of(const struct stat& info);

}  // namespace rlx::platform
