// Blocks: copied from the stack with their captures when they are kept.
#pragma once

namespace objc_double {
bool is_block(const void* object);
bool is_heap_block(const void* object);
}  // namespace objc_double

extern "C" {
void* _Block_copy(const void* block);
void _Block_release(const void* block);
void _Block_object_assign(void* to, const void* from, int flags);
void _Block_object_dispose(const void* object, int flags);
}
