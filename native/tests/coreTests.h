// Shared by the tests of the core: a check that counts, and the code of an error.
#pragma once

#include <cstdio>
#include <cstring>

#include "core/error.h"

namespace core_tests {

inline int failures = 0;
inline int checks = 0;

inline void check(bool condition, const char* what, const char* file, int line) {
  checks++;
  if (condition) return;
  failures++;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
}
#define CHECK(condition) core_tests::check((condition), #condition, __FILE__, __LINE__)

template <class Body>
const char* code_of(Body&& body) {
  try {
    body();
  } catch (const rlx::Error& error) {
    return rlx::code_name(error.code());
  }
  return "none";
}
inline bool same(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

// Each in a file of its own.
void test_threads();
void test_mapped_files();
void test_rows();
void test_stored_error();
void test_joint_steps();

}  // namespace core_tests
