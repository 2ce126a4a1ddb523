#include "blocks.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime.h"

// The published layout of blocks and of __block variables, and the four functions that clang calls
// for them.
extern "C" {
void* _NSConcreteStackBlock[32];
void* _NSConcreteGlobalBlock[32];
void* _NSConcreteMallocBlock[32];
}

namespace objc_double {
Object* retain(Object*);
void release(Object*);

namespace {

enum : int32_t { kHasHelpers = 1 << 25 };
enum { kFieldObject = 3, kFieldBlock = 7, kFieldByref = 8, kFieldWeak = 16, kByrefCaller = 128 };

struct Descriptor {
  uintptr_t reserved, size;
  void (*copy)(void*, const void*);
  void (*dispose)(const void*);
};
struct Block {
  void* isa;
  int32_t flags;
  int32_t count;  // reserved by the compiler: our reference count on the heap
  void* invoke;
  Descriptor* descriptor;
};
struct Byref {
  intptr_t holders;  // the compiler's isa, which it leaves empty: our count on the heap
  Byref* forwarding;
  int32_t flags;
  int32_t size;
  void (*keep)(Byref*, Byref*);
  void (*destroy)(Byref*);
};

std::atomic_ref<int32_t> count_of(Block* block) { return std::atomic_ref<int32_t>(block->count); }

Byref* copy_byref(Byref* from) {
  if (from->forwarding != from) from = from->forwarding;
  if (from->holders) {
    std::atomic_ref(from->holders).fetch_add(1);
    return from;
  }
  auto* made = static_cast<Byref*>(std::malloc(static_cast<size_t>(from->size)));
  std::memcpy(made, from, static_cast<size_t>(from->size));
  made->holders = 2;  // one for the stack frame, one for the block
  made->forwarding = made;
  from->forwarding = made;
  if (from->flags & kHasHelpers) made->keep(made, from);
  return made;
}

void release_byref(Byref* byref) {
  byref = byref->forwarding;
  if (!byref->holders) return;  // never left the stack
  if (std::atomic_ref(byref->holders).fetch_sub(1) != 1) return;
  if (byref->flags & kHasHelpers) byref->destroy(byref);
  std::free(byref);
}

}  // namespace

bool is_heap_block(const void* object) { return *static_cast<void* const*>(object) == _NSConcreteMallocBlock; }
bool is_block(const void* object) {
  const void* isa = *static_cast<void* const*>(object);
  return isa == _NSConcreteStackBlock || isa == _NSConcreteGlobalBlock || isa == _NSConcreteMallocBlock;
}

}  // namespace objc_double

using namespace objc_double;

extern "C" void* _Block_copy(const void* given) {
  auto* block = static_cast<Block*>(const_cast<void*>(given));
  if (block->isa == _NSConcreteGlobalBlock) return block;
  if (block->isa == _NSConcreteMallocBlock) {
    count_of(block).fetch_add(1);
    return block;
  }
  auto* made = static_cast<Block*>(std::malloc(block->descriptor->size));
  std::memcpy(made, block, block->descriptor->size);
  made->isa = _NSConcreteMallocBlock;
  made->count = 1;
  if (made->flags & kHasHelpers) made->descriptor->copy(made, block);
  return made;
}

extern "C" void _Block_release(const void* given) {
  auto* block = static_cast<Block*>(const_cast<void*>(given));
  if (block->isa != _NSConcreteMallocBlock || count_of(block).fetch_sub(1) != 1) return;
  if (block->flags & kHasHelpers) block->descriptor->dispose(block);
  std::free(block);
}

extern "C" void _Block_object_assign(void* to, const void* from, int flags) {
  auto** place = static_cast<void**>(to);
  auto* object = const_cast<void*>(from);
  if (flags & kByrefCaller || flags & kFieldWeak)
    *place = object;
  else if ((flags & 15) == kFieldByref)
    *place = copy_byref(static_cast<Byref*>(object));
  else if ((flags & 15) == kFieldBlock)
    *place = object ? _Block_copy(object) : nullptr;
  else
    *place = retain(static_cast<Object*>(object));
}

extern "C" void _Block_object_dispose(const void* from, int flags) {
  auto* object = const_cast<void*>(from);
  if (flags & kByrefCaller || flags & kFieldWeak || !object) return;
  if ((flags & 15) == kFieldByref)
    release_byref(static_cast<Byref*>(object));
  else if ((flags & 15) == kFieldBlock)
    _Block_release(object);
  else
    release(static_cast<Object*>(object));
}
