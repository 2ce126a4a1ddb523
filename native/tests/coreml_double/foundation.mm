// Foundation for the double: as much behaviour as the declared subset promises, over C++
// containers.
#import "private.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "runtime.h"

extern "C" id objc_double_allocate(Class cls) __attribute__((ns_returns_retained));

using coreml_double::string_of;
using coreml_double::text_of;

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";
NSErrorDomain const NSCocoaErrorDomain = @"NSCocoaErrorDomain";
NSErrorDomain const NSPOSIXErrorDomain = @"NSPOSIXErrorDomain";
NSExceptionName const NSInvalidArgumentException = @"NSInvalidArgumentException";

// ------------------------------------------------------------------------------- strings

@interface DoubleTinyString : NSString
@end
@implementation DoubleTinyString
@end
@implementation NSConstantString
@end
@interface DoubleString : NSString {
 @public
  std::string text;
}
@end
@implementation DoubleString
@end

std::string coreml_double::text_of(NSString* string) {
  const auto bits = reinterpret_cast<uintptr_t>((__bridge void*)string);
  if ((bits & 7) == 4) {  // up to eight characters inside the pointer
    std::string text;
    for (uintptr_t i = 0; i < ((bits >> 3) & 31); i++) text += static_cast<char>((bits >> (57 - i * 7)) & 127);
    return text;
  }
  const auto* object = reinterpret_cast<const objc_double::Object*>(bits);
  struct Constant {
    void* isa;
    uint32_t flags, units, bytes, hash;
    const char* data;
  };
  if (std::strcmp(objc_double::class_of(object)->name, "NSConstantString") == 0) {
    const auto* constant = reinterpret_cast<const Constant*>(bits);
    return {constant->data, constant->bytes};
  }
  return ((DoubleString*)string)->text;
}

NSString* coreml_double::string_of(const std::string& text) {
  DoubleString* made = [DoubleString new];
  made->text = text;
  return made;
}

@implementation NSString
+ (instancetype)stringWithUTF8String:(const char*)text {
  return string_of(text);
}
- (NSUInteger)length {
  return text_of(self).size();
}
- (const char*)UTF8String {
  if (![self isKindOfClass:[DoubleString class]]) {
    // The bytes must outlive this call: they belong to a string in the pool.
    __autoreleasing NSString* kept = string_of(text_of(self));
    return ((DoubleString*)kept)->text.c_str();
  }
  return ((DoubleString*)self)->text.c_str();
}
- (BOOL)isEqualToString:(NSString*)other {
  return text_of(self) == text_of(other);
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSString class]] && [self isEqualToString:other];
}
- (NSUInteger)hash {
  return std::hash<std::string>()(text_of(self));
}
- (NSString*)description {
  return self;
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
@end

// ------------------------------------------------------------------------------- numbers

@implementation NSValue {
  NSRange _range;
}
+ (NSValue*)valueWithRange:(NSRange)range {
  NSValue* made = [NSValue new];
  made->_range = range;
  return made;
}
- (NSRange)rangeValue {
  return _range;
}
@end

@implementation NSNumber {
  long long _whole;
  double _real;
}
static NSNumber* number(long long whole, double real) {
  NSNumber* made = [NSNumber new];
  made->_whole = whole;
  made->_real = real;
  return made;
}
+ (NSNumber*)numberWithBool:(BOOL)value {
  return number(value, value);
}
+ (NSNumber*)numberWithInt:(int)value {
  return number(value, value);
}
+ (NSNumber*)numberWithUnsignedInt:(unsigned int)value {
  return number(value, value);
}
+ (NSNumber*)numberWithLong:(long)value {
  return number(value, static_cast<double>(value));
}
+ (NSNumber*)numberWithUnsignedLong:(unsigned long)value {
  return number(static_cast<long long>(value), static_cast<double>(value));
}
+ (NSNumber*)numberWithLongLong:(long long)value {
  return number(value, static_cast<double>(value));
}
+ (NSNumber*)numberWithUnsignedLongLong:(unsigned long long)value {
  return number(static_cast<long long>(value), static_cast<double>(value));
}
+ (NSNumber*)numberWithInteger:(NSInteger)value {
  return number(value, static_cast<double>(value));
}
+ (NSNumber*)numberWithDouble:(double)value {
  return number(static_cast<long long>(value), value);
}
- (long long)longLongValue {
  return _whole;
}
- (NSInteger)integerValue {
  return static_cast<NSInteger>(_whole);
}
- (double)doubleValue {
  return _real;
}
- (BOOL)boolValue {
  return _whole != 0;
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSNumber class]] && ((NSNumber*)other)->_whole == _whole &&
         ((NSNumber*)other)->_real == _real;
}
- (NSUInteger)hash {
  return static_cast<NSUInteger>(_whole);
}
@end

// --------------------------------------------------------------------------- collections

namespace {
// Hands out one item after the other; `buffer` holds them for the loop, the collection keeps them
// alive.
NSUInteger enumerate(const std::vector<id>& items, NSFastEnumerationState* state, id __unsafe_unretained* buffer,
                     NSUInteger room) {
  static unsigned long unchanged;
  state->mutationsPtr = &unchanged;
  state->itemsPtr = buffer;
  NSUInteger given = 0;
  for (; given < room && state->state < items.size(); given++, state->state++) buffer[given] = items[state->state];
  return given;
}
}  // namespace

@interface NSArray () {
 @public
  std::vector<id> items;
}
@end
@implementation NSArray
+ (instancetype)array {
  return [self new];
}
+ (instancetype)arrayWithObjects:(const id[])objects count:(NSUInteger)count {
  NSArray* made = [self new];
  made->items.assign(objects, objects + count);
  return made;
}
- (NSUInteger)count {
  return items.size();
}
- (id)firstObject {
  return items.empty() ? nil : items.front();
}
- (id)objectAtIndexedSubscript:(NSUInteger)index {
  if (index >= items.size()) coreml_double::raise("index " + std::to_string(index) + " beyond bounds");
  return items[index];
}
- (BOOL)isEqualToArray:(NSArray*)other {
  if (items.size() != other->items.size()) return NO;
  for (size_t i = 0; i < items.size(); i++)
    if (![items[i] isEqual:other->items[i]]) return NO;
  return YES;
}
- (id)copyWithZone:(NSZone*)zone {
  NSArray* made = [NSArray new];
  made->items = items;
  return made;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)room {
  return enumerate(items, state, buffer, room);
}
@end
@implementation NSMutableArray
- (void)addObject:(id)object {
  items.push_back(object);
}
@end

@interface NSDictionary () {
 @public
  std::vector<id> keys, values;
}
@end
@implementation NSDictionary
+ (instancetype)dictionaryWithObjects:(const id[])objects forKeys:(const id[])names count:(NSUInteger)count {
  NSDictionary* made = [self new];
  made->keys.assign(names, names + count);
  made->values.assign(objects, objects + count);
  return made;
}
- (NSUInteger)count {
  return keys.size();
}
- (NSArray*)allKeys {
  NSArray* made = [NSArray new];
  made->items = keys;
  return made;
}
- (id)objectForKeyedSubscript:(id)key {
  for (size_t i = 0; i < keys.size(); i++)
    if ([keys[i] isEqual:key]) return values[i];
  return nil;
}
- (id)copyWithZone:(NSZone*)zone {
  NSDictionary* made = [NSDictionary new];
  made->keys = keys;
  made->values = values;
  return made;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)room {
  return enumerate(keys, state, buffer, room);
}
@end
@implementation NSMutableDictionary
- (void)setObject:(id)object forKeyedSubscript:(id)key {
  for (size_t i = 0; i < keys.size(); i++)
    if ([keys[i] isEqual:key]) {
      values[i] = object;
      return;
    }
  keys.push_back([key copy]);
  values.push_back(object);
}
@end

@implementation NSSet {
  std::vector<id> items;
}
+ (instancetype)setWithArray:(NSArray*)array {
  NSSet* made = [self new];
  made->items = array->items;
  return made;
}
- (NSUInteger)count {
  return items.size();
}
- (BOOL)containsObject:(id)object {
  for (id item : items)
    if ([item isEqual:object]) return YES;
  return NO;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)room {
  return enumerate(items, state, buffer, room);
}
@end

// ------------------------------------------------------- errors, files, the machine's own word

@implementation NSError
@synthesize domain = _domain, code = _code, userInfo = _userInfo;
+ (instancetype)errorWithDomain:(NSErrorDomain)domain code:(NSInteger)code userInfo:(NSDictionary*)info {
  NSError* made = [self new];
  made->_domain = domain;
  made->_code = code;
  made->_userInfo = info ? [info copy] : [NSDictionary new];
  return made;
}
- (NSString*)localizedDescription {
  NSString* given = _userInfo[NSLocalizedDescriptionKey];
  return given ? given : @"The operation couldn’t be completed.";
}
@end

@implementation NSException
@synthesize name = _name, reason = _reason;
+ (NSException*)exceptionWithName:(NSExceptionName)name reason:(NSString*)reason userInfo:(NSDictionary*)info {
  NSException* made = [NSException new];
  made->_name = name;
  made->_reason = reason;
  return made;
}
@end

@implementation NSURL
@synthesize path = _path;
+ (NSURL*)fileURLWithPath:(NSString*)path {
  NSURL* made = [NSURL new];
  made->_path = [path copy];
  return made;
}
- (BOOL)isEqual:(id)other {
  return [other isKindOfClass:[NSURL class]] && [((NSURL*)other)->_path isEqualToString:_path];
}
- (id)copyWithZone:(NSZone*)zone {
  return self;
}
@end

@implementation NSData {
  std::string held;
}
+ (instancetype)dataWithContentsOfFile:(NSString*)path options:(NSDataReadingOptions)options error:(NSError**)error {
  std::ifstream file(text_of(path), std::ios::binary);
  if (!file) {
    if (error)
      *error = [NSError
          errorWithDomain:NSCocoaErrorDomain
                     code:260
                 userInfo:@{
                   NSLocalizedDescriptionKey : string_of("The file “" + text_of(path) + "” couldn’t be opened.")
                 }];
    return nil;
  }
  NSData* made = [NSData new];
  made->held.assign(std::istreambuf_iterator<char>(file), {});
  return made;
}
- (NSUInteger)length {
  return held.size();
}
- (const void*)bytes {
  return held.data();
}
@end

@implementation NSProcessInfo
+ (NSProcessInfo*)processInfo {
  static NSProcessInfo* only = [NSProcessInfo new];
  return only;
}
- (NSOperatingSystemVersion)operatingSystemVersion {
  const auto played = coreml_double::behaviour();
  return {played.major, played.minor, 0};
}
- (unsigned long long)physicalMemory {
  return 24ull << 30;
}
- (NSProcessInfoThermalState)thermalState {
  return static_cast<NSProcessInfoThermalState>(coreml_double::behaviour().thermal);
}
- (BOOL)isLowPowerModeEnabled {
  return coreml_double::behaviour().low_power;
}
@end

void coreml_double::raise(const std::string& reason) {
  @throw [NSException exceptionWithName:NSInvalidArgumentException reason:string_of(reason) userInfo:nil];
}
