// The registry look-up that tells a Neural Engine on systems without MLAllComputeDevices.
#pragma once
#include <stdint.h>
typedef uint32_t io_object_t;
typedef io_object_t io_service_t;
typedef struct __CFDictionary* CFMutableDictionaryRef;
#define kIOMainPortDefault 0u
extern "C" CFMutableDictionaryRef IOServiceMatching(const char* name);
extern "C" io_service_t IOServiceGetMatchingService(uint32_t port, CFMutableDictionaryRef matching);
extern "C" int IOObjectRelease(io_object_t object);
