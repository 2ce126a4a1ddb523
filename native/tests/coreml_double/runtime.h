// The small Objective-C runtime that the Core ML double stands on: clang's gnustep-2.0 ABI, as far
// as ARC code with blocks, literals, protocols, weak references and exceptions needs it. Test code
// only; categories and forwarding are not there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace objc_double {

// Layouts that clang emits for -fobjc-runtime=gnustep-2.0.
struct Selector {
  const char* name;  // one address per name after loading
  const char* types;
};
struct Method {
  void* imp;
  Selector* selector;
  const char* types;
};
struct MethodList {
  MethodList* next;
  int32_t count;
  size_t size;
  Method methods[1];
};
struct Ivar {
  const char* name;
  const char* type;
  int32_t* offset;
  uint32_t size;
  uint32_t flags;
};
struct IvarList {
  int32_t count;
  size_t size;
  Ivar ivars[1];
};
struct Class {
  Class* isa;
  Class* super;
  const char* name;
  long version;
  unsigned long info;
  long instance_size;  // negative: own size only, until the class is resolved
  IvarList* ivars;
  MethodList* methods;
  void* dispatch;  // our table of flattened methods
  void* construct;
  void* destruct;
  void* subclasses;
  void* siblings;
  void* protocols;
  void* extra;
  long abi;
  void* properties;
};
struct Object {
  Class* isa;
};

Class* class_of(const Object* object);
bool is_kind_of(const Object* object, const Class* wanted);
// Objects that exist now, blocks on the heap included: what a leak test compares.
long live_objects();

}  // namespace objc_double
