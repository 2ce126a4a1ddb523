// NSObject, without ARC: this is what ARC calls.
#import <Foundation/Foundation.h>

#include <cstring>

#include "runtime.h"

extern "C" {
id objc_double_allocate(Class cls);
void objc_double_free(id object);
id objc_retain(id object);
void objc_release(id object);
id objc_autorelease(id object);
id objc_double_lookup(id receiver, SEL selector);
}

static objc_double::Class* layout(Class cls) { return reinterpret_cast<objc_double::Class*>(cls); }

@implementation NSObject
+ (instancetype)alloc {
  return objc_double_allocate(self);
}
+ (instancetype)new {
  return [[self alloc] init];
}
+ (Class)class {
  return self;
}
- (instancetype)init {
  return self;
}
- (instancetype)self {
  return self;
}
- (id)copy {
  return [(id<NSCopying>)self copyWithZone:nullptr];
}
- (void)dealloc {
  objc_double_free(self);
}
- (BOOL)isKindOfClass:(Class)cls {
  return objc_double::is_kind_of(reinterpret_cast<objc_double::Object*>(self), layout(cls));
}
- (BOOL)respondsToSelector:(SEL)selector {
  const char* name = reinterpret_cast<objc_double::Selector*>(selector)->name;
  for (auto* at = objc_double::class_of(reinterpret_cast<objc_double::Object*>(self)); at; at = at->super)
    for (auto* list = at->methods; list; list = list->next)
      for (int i = 0; i < list->count; i++)
        if (std::strcmp(list->methods[i].selector->name, name) == 0) return YES;
  return NO;
}
- (BOOL)isEqual:(id)other {
  return self == other;
}
- (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(self);
}
- (NSString*)description {
  return [NSString stringWithUTF8String:layout(reinterpret_cast<Class>(
                                                   objc_double::class_of(reinterpret_cast<objc_double::Object*>(self))))
                                            ->name];
}
@end
