// What the bridge asks of Metal: the GPU's name and memory.
#pragma once
#import <Foundation/Foundation.h>
@protocol MTLDevice <NSObject>
@property(readonly, nonnull) NSString* name;
@property(readonly) BOOL hasUnifiedMemory;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@end
FOUNDATION_EXPORT id<MTLDevice> _Nullable MTLCreateSystemDefaultDevice(void) __attribute__((ns_returns_retained));
