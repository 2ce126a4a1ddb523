// The runtime itself: what ARC, blocks, weak references, literals and exceptions must do before
// anything above is believed.
#import <Foundation/Foundation.h>

#include <stdexcept>
#include <string>

#include "runtime.h"

extern "C" void check(bool holds, const char* what);

static int deallocated = 0;
@interface Counted : NSObject
@property(nonatomic, strong) NSString* title;
@property(nonatomic, copy) int (^block)(int);
@end
@implementation Counted
- (void)dealloc {
  deallocated++;
}
@end

void runtime_tests() {
  const long before = objc_double::live_objects();
  @autoreleasepool {
    __weak Counted* weak = nil;
    __block int sum = 0;
    {
      Counted* one = [Counted new];
      weak = one;
      Counted* __unsafe_unretained inside = one;
      std::string captured = "captured";
      one.title = @"a title that is longer than a pointer";
      one.block = ^(int x) {
        sum += x;
        check(captured == "captured" && inside.title.length == 37, "a block holds C++ objects");
        return sum;
      };
      one.block(40);
      check(one.block(2) == 42 && sum == 42, "__block variables move to the heap");
      check(weak == one, "a weak reference sees the object");
    }
    check(deallocated == 1 && weak == nil, "a weak reference is nil afterwards");

    NSDictionary<NSString*, NSNumber*>* numbers = @{@"one" : @1, @"a much longer key" : @2.5};
    check(numbers[@"one"].longLongValue == 1 && numbers[@"a much longer key"].doubleValue == 2.5,
          "dictionary literals");
    int visited = 0;
    for (NSString* key in numbers) visited += key.length > 0;
    check(visited == 2, "fast enumeration");
    check(@[ @1, @2, @3 ].count == 3, "array literals");

    bool caught = false;
    @try {
      @throw [NSException exceptionWithName:NSInvalidArgumentException reason:@"on purpose" userInfo:nil];
    } @catch (NSException* exception) {
      caught = [exception.reason isEqualToString:@"on purpose"];
    }
    check(caught, "an exception is caught by its class");
    caught = false;
    @try {
      try {
        @throw @"a string";
      } catch (const std::exception&) {
        check(false, "an object is no C++ exception");
      }
    } @catch (NSException*) {
      check(false, "a string is no NSException");
    } @catch (id object) {
      caught = [object isEqual:@"a string"];
    }
    check(caught, "anything is caught as id");
    caught = false;
    try {
      @try {
        throw std::runtime_error("passes");
      } @catch (NSException*) {
        check(false, "a C++ exception is no NSException");
      }
    } catch (const std::runtime_error&) {
      caught = true;
    }
    check(caught, "C++ exceptions pass Objective-C frames");
  }
  check(objc_double::live_objects() == before, "no object is left");
}
