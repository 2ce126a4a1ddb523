// glibc has none; the bridge asks for names only.
#pragma once
#include <stddef.h>
extern "C" int sysctlbyname(const char* name, void* old, size_t* size, void* fresh, size_t fresh_size);
