#include "runtime.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "blocks.h"

// Classes, messages, reference counts, weak references, autorelease pools and exceptions.
namespace objc_double {

void release(Object* object);

namespace {

constexpr unsigned long kMeta = 1, kResolved = 1ul << 20;

struct Dispatch {
  std::unordered_map<const char*, void*> methods;
};

std::recursive_mutex& lock() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

// One address per selector name. Never freed: classes outlive every object.
const char* interned(const char* name) {
  static auto* names = new std::unordered_set<std::string>;
  return names->insert(name).first->c_str();
}

void resolve(Class* cls) {
  if (cls->info & kResolved) return;
  if (cls->super) resolve(cls->super);
  Class* meta = cls->isa;
  Class* root = cls;
  while (root->super) root = root->super;
  meta->isa = root->isa;
  meta->super = cls->super ? cls->super->isa : cls;
  meta->info |= kResolved | kMeta;
  if (cls->instance_size <= 0) {
    const long inherited = cls->super ? (cls->super->instance_size + 7) & ~7L : 0;
    for (int i = 0; cls->ivars && i < cls->ivars->count; i++)
      *cls->ivars->ivars[i].offset += static_cast<int32_t>(inherited);
    cls->instance_size = inherited - cls->instance_size;
  }
  cls->info |= kResolved;
}

void own_methods(const Class* cls, Dispatch& into) {
  for (const MethodList* list = cls->methods; list; list = list->next)
    for (int i = 0; i < list->count; i++)
      into.methods.emplace(interned(list->methods[i].selector->name), list->methods[i].imp);
}

Dispatch& dispatch_of(Class* cls) {
  auto* held = __atomic_load_n(reinterpret_cast<Dispatch**>(&cls->dispatch), __ATOMIC_ACQUIRE);
  if (held) return *held;
  std::lock_guard guard(lock());
  if (cls->dispatch) return *static_cast<Dispatch*>(cls->dispatch);
  if (!(cls->info & kMeta)) resolve(cls);
  auto* made = new Dispatch;
  own_methods(cls, *made);
  if (cls->super) made->methods.insert(dispatch_of(cls->super).methods.begin(), dispatch_of(cls->super).methods.end());
  __atomic_store_n(reinterpret_cast<Dispatch**>(&cls->dispatch), made, __ATOMIC_RELEASE);
  return *made;
}

void* own_method(Class* cls, const char* name) {
  for (const MethodList* list = cls->methods; list; list = list->next)
    for (int i = 0; i < list->count; i++)
      if (std::strcmp(list->methods[i].selector->name, name) == 0) return list->methods[i].imp;
  return nullptr;
}

// What a message to nil answers: zero in every return register.
__attribute__((naked)) void answer_nil() {
  __asm__("xorl %eax, %eax\n\txorl %edx, %edx\n\tpxor %xmm0, %xmm0\n\tpxor %xmm1, %xmm1\n\tret");
}

void* find(Class* cls, const Selector* selector) {
  Dispatch& dispatch = dispatch_of(cls);
  const auto found = dispatch.methods.find(selector->name);
  return found == dispatch.methods.end() ? nullptr : found->second;
}

// ------------------------------------------------------------------------------- memory

struct Header {
  std::atomic<long> count;
  long padding;
};
std::atomic<long> live{0};

Header& header_of(Object* object) { return reinterpret_cast<Header*>(object)[-1]; }

struct Weak {
  std::mutex mutex;
  std::unordered_map<Object*, std::set<Object**>> places;
};
Weak& weak() {
  static auto* table = new Weak;
  return *table;
}

bool is_tagged(const Object* object) { return (reinterpret_cast<uintptr_t>(object) & 7) != 0; }

extern "C" Class NSConstantStringClass __asm__("._OBJC_CLASS_NSConstantString");
extern "C" Class TinyStringClass __asm__("._OBJC_CLASS_DoubleTinyString");

bool counts(const Object* object) { return object && !is_tagged(object) && object->isa != &NSConstantStringClass; }

void destroy(Object* object) {
  {
    std::lock_guard guard(weak().mutex);
    const auto found = weak().places.find(object);
    if (found != weak().places.end()) {
      for (Object** place : found->second) *place = nullptr;
      weak().places.erase(found);
    }
  }
  static Selector dealloc{interned("dealloc"), nullptr};
  reinterpret_cast<void (*)(Object*, Selector*)>(find(object->isa, &dealloc))(object, &dealloc);
}

struct Pool {
  std::vector<Object*> objects;
  std::vector<size_t> marks;
  ~Pool() { drain(0); }  // at the end of a thread, as Foundation does it
  void drain(size_t mark) {
    while (objects.size() > mark) {
      Object* last = objects.back();
      objects.pop_back();
      release(last);
    }
  }
};
Pool& pool() {
  static thread_local Pool own;
  return own;
}

}  // namespace

Class* class_of(const Object* object) { return is_tagged(object) ? &TinyStringClass : object->isa; }

bool is_kind_of(const Object* object, const Class* wanted) {
  if (!object) return false;
  for (const Class* at = class_of(object); at; at = at->super)
    if (at == wanted) return true;
  return false;
}

long live_objects() { return live.load(); }

void release(Object* object) {
  if (!counts(object)) return;
  if (is_block(object)) return _Block_release(object);
  if (header_of(object).count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(object);
}

Object* retain(Object* object) {
  if (!counts(object)) return object;
  if (is_block(object)) return is_heap_block(object) ? static_cast<Object*>(_Block_copy(object)) : object;
  header_of(object).count.fetch_add(1, std::memory_order_relaxed);
  return object;
}

}  // namespace objc_double

using namespace objc_double;

// ----------------------------------------------------------------------- what clang calls
extern "C" {

struct Init {
  uint64_t version;
  Selector *selectors, *selectors_end;
  Class **classes, **classes_end;
  void* rest[12];
};

void __objc_load(Init* init) {
  std::lock_guard guard(lock());
  for (Selector* at = init->selectors; at < init->selectors_end; at++)
    if (at->name) at->name = interned(at->name);
  for (Class** at = init->classes; at < init->classes_end; at++)
    if (*at) resolve(*at);
}

void* objc_double_lookup(Object* receiver, Selector* selector) {
  if (!receiver) return reinterpret_cast<void*>(answer_nil);
  if (void* method = find(class_of(receiver), selector)) return method;
  std::fprintf(stderr, "objc: -[%s %s]: unrecognized selector\n", class_of(receiver)->name, selector->name);
  std::abort();
}

struct Super {
  Object* receiver;
  Class* cls;
};
void* objc_msg_lookup_super(Super* super, Selector* selector) {
  if (void* method = find(super->cls, selector)) return method;
  std::fprintf(stderr, "objc: super of %s has no %s\n", super->cls->name, selector->name);
  std::abort();
}

Object* objc_double_allocate(Class* cls) {
  dispatch_of(cls);
  auto* header = static_cast<Header*>(std::calloc(1, sizeof(Header) + static_cast<size_t>(cls->instance_size)));
  if (!header) std::abort();
  header->count.store(1);
  auto* object = reinterpret_cast<Object*>(header + 1);
  object->isa = cls;
  std::vector<Class*> chain;
  for (Class* at = cls; at; at = at->super) chain.push_back(at);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at)
    if (void* construct = own_method(*at, ".cxx_construct"))
      reinterpret_cast<Object* (*)(Object*, void*)>(construct)(object, nullptr);
  live++;
  return object;
}

void objc_double_free(Object* object) {
  for (Class* at = object->isa; at; at = at->super)
    if (void* destruct = own_method(at, ".cxx_destruct"))
      reinterpret_cast<void (*)(Object*, void*)>(destruct)(object, nullptr);
  live--;
  std::free(&header_of(object));
}

Object* objc_retain(Object* object) { return retain(object); }
void objc_release(Object* object) { release(object); }
Object* objc_autorelease(Object* object) {
  if (counts(object)) pool().objects.push_back(object);
  return object;
}
Object* objc_retainAutorelease(Object* object) { return objc_autorelease(retain(object)); }
Object* objc_autoreleaseReturnValue(Object* object) { return objc_autorelease(object); }
Object* objc_retainAutoreleaseReturnValue(Object* object) { return objc_retainAutorelease(object); }
Object* objc_retainAutoreleasedReturnValue(Object* object) { return retain(object); }
Object* objc_unsafeClaimAutoreleasedReturnValue(Object* object) { return object; }
Object* objc_retainBlock(Object* block) { return block ? static_cast<Object*>(_Block_copy(block)) : nullptr; }
void objc_storeStrong(Object** place, Object* value) {
  Object* old = *place;
  *place = retain(value);
  release(old);
}
void* objc_autoreleasePoolPush() {
  pool().marks.push_back(pool().objects.size());
  return reinterpret_cast<void*>(pool().marks.size());
}
void objc_autoreleasePoolPop(void* token) {
  auto& marks = pool().marks;
  const size_t depth = reinterpret_cast<size_t>(token);
  if (depth > marks.size()) return;
  const size_t mark = marks[depth - 1];
  marks.resize(depth - 1);
  pool().drain(mark);
}

Object* objc_storeWeak(Object** place, Object* value) {
  std::lock_guard guard(weak().mutex);
  if (*place) {
    const auto old = weak().places.find(*place);
    if (old != weak().places.end()) old->second.erase(place);
  }
  *place = value;
  if (counts(value)) weak().places[value].insert(place);
  return value;
}
Object* objc_initWeak(Object** place, Object* value) {
  *place = nullptr;
  return objc_storeWeak(place, value);
}
Object* objc_loadWeakRetained(Object** place) {
  std::lock_guard guard(weak().mutex);
  Object* object = *place;
  if (!counts(object)) return object;
  auto& count = header_of(object).count;
  for (long now = count.load(); now > 0;)
    if (count.compare_exchange_weak(now, now + 1)) return object;
  return nullptr;
}
Object* objc_loadWeak(Object** place) { return objc_autorelease(objc_loadWeakRetained(place)); }
void objc_destroyWeak(Object** place) { objc_storeWeak(place, nullptr); }
void objc_copyWeak(Object** to, Object** from) {
  Object* object = objc_loadWeakRetained(from);
  objc_initWeak(to, object);
  release(object);
}
void objc_moveWeak(Object** to, Object** from) {
  objc_copyWeak(to, from);
  objc_destroyWeak(from);
}

Object* objc_getProperty(Object* self, void*, ptrdiff_t offset, bool) {
  std::lock_guard guard(lock());
  return objc_retainAutorelease(*reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + offset));
}
static void set_property(Object* self, Object* value, ptrdiff_t offset, bool copy) {
  Object* kept = copy && value && is_block(value) ? objc_retainBlock(value) : retain(value);
  Object* old;
  {
    std::lock_guard guard(lock());
    auto** place = reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + offset);
    old = *place;
    *place = kept;
  }
  release(old);
}
void objc_setProperty_atomic(Object* self, void*, Object* value, ptrdiff_t offset) {
  set_property(self, value, offset, false);
}
void objc_setProperty_nonatomic(Object* self, void*, Object* value, ptrdiff_t offset) {
  set_property(self, value, offset, false);
}
void objc_setProperty_atomic_copy(Object* self, void*, Object* value, ptrdiff_t offset) {
  set_property(self, value, offset, true);
}
void objc_setProperty_nonatomic_copy(Object* self, void*, Object* value, ptrdiff_t offset) {
  set_property(self, value, offset, true);
}

void objc_enumerationMutation(Object*) { std::abort(); }

}  // extern "C"

// All registers that can hold an argument are kept around the search for the method.
#define SEND(NAME, RECEIVER, SELECTOR)                                                                       \
  __asm__(".globl " NAME "\n.type " NAME ",@function\n" NAME                                                 \
          ":\n"                                                                                              \
          "pushq %rbp\nmovq %rsp,%rbp\nsubq $192,%rsp\n"                                                     \
          "movq %rdi,(%rsp)\nmovq %rsi,8(%rsp)\nmovq %rdx,16(%rsp)\nmovq %rcx,24(%rsp)\nmovq %r8,32(%rsp)\n" \
          "movq %r9,40(%rsp)\nmovq %rax,48(%rsp)\n"                                                          \
          "movdqa %xmm0,64(%rsp)\nmovdqa %xmm1,80(%rsp)\nmovdqa %xmm2,96(%rsp)\nmovdqa %xmm3,112(%rsp)\n"    \
          "movdqa %xmm4,128(%rsp)\nmovdqa %xmm5,144(%rsp)\nmovdqa %xmm6,160(%rsp)\nmovdqa %xmm7,176(%rsp)\n" \
          "movq " RECEIVER ",%rdi\nmovq " SELECTOR                                                           \
          ",%rsi\ncall objc_double_lookup@PLT\nmovq %rax,%r11\n"                                             \
          "movq (%rsp),%rdi\nmovq 8(%rsp),%rsi\nmovq 16(%rsp),%rdx\nmovq 24(%rsp),%rcx\nmovq 32(%rsp),%r8\n" \
          "movq 40(%rsp),%r9\nmovq 48(%rsp),%rax\n"                                                          \
          "movdqa 64(%rsp),%xmm0\nmovdqa 80(%rsp),%xmm1\nmovdqa 96(%rsp),%xmm2\nmovdqa 112(%rsp),%xmm3\n"    \
          "movdqa 128(%rsp),%xmm4\nmovdqa 144(%rsp),%xmm5\nmovdqa 160(%rsp),%xmm6\nmovdqa 176(%rsp),%xmm7\n" \
          "movq %rbp,%rsp\npopq %rbp\njmp *%r11\n.size " NAME ",.-" NAME "\n")
SEND("objc_msgSend", "(%rsp)", "8(%rsp)");
SEND("objc_msgSend_stret", "8(%rsp)", "16(%rsp)");

// --------------------------------------------------------------------------- exceptions
// Objective-C objects travel as C++ exceptions that hold the object; a catch clause for a class asks the class.
namespace gnustep::libobjc {

struct __objc_id_type_info : std::type_info {
  explicit __objc_id_type_info(const char* name) : type_info(name) {}
  ~__objc_id_type_info() override;
  bool __do_catch(const std::type_info* thrown, void** object, unsigned) const override;
};
struct __objc_class_type_info : std::type_info {
  explicit __objc_class_type_info(const char* name) : type_info(name) {}
  ~__objc_class_type_info() override;
  bool __do_catch(const std::type_info* thrown, void** object, unsigned) const override;
};

}  // namespace gnustep::libobjc

extern "C" gnustep::libobjc::__objc_id_type_info __objc_id_type_info;
gnustep::libobjc::__objc_id_type_info __objc_id_type_info("id");

namespace gnustep::libobjc {
__objc_id_type_info::~__objc_id_type_info() = default;
__objc_class_type_info::~__objc_class_type_info() = default;

bool __objc_id_type_info::__do_catch(const std::type_info* thrown, void** object, unsigned) const {
  if (thrown != &::__objc_id_type_info) return false;
  *object = *static_cast<void**>(*object);
  return true;
}
bool __objc_class_type_info::__do_catch(const std::type_info* thrown, void** object, unsigned) const {
  if (thrown != &::__objc_id_type_info) return false;
  auto* held = *static_cast<Object**>(*object);
  for (const Class* at = class_of(held); at; at = at->super)
    if (std::strcmp(at->name, name()) == 0) {
      *object = held;
      return true;
    }
  return false;
}
}  // namespace gnustep::libobjc

namespace __cxxabiv1 {
extern "C" void* __cxa_allocate_exception(size_t);
extern "C" [[noreturn]] void __cxa_throw(void*, void*, void (*)(void*));
}  // namespace __cxxabiv1

extern "C" [[noreturn]] void objc_exception_throw(Object* object) {
  void* place = __cxxabiv1::__cxa_allocate_exception(sizeof(Object*));
  *static_cast<Object**>(place) = retain(object);
  __cxxabiv1::__cxa_throw(place, static_cast<std::type_info*>(&__objc_id_type_info),
                          [](void* held) { objc_autorelease(*static_cast<Object**>(held)); });
}

extern "C" int __gxx_personality_v0(int, int, uint64_t, void*, void*);
extern "C" int __gnustep_objcxx_personality_v0(int version, int actions, uint64_t kind, void* exception,
                                               void* context) {
  return __gxx_personality_v0(version, actions, kind, exception, context);
}
