// The one error of the native engine: a code of main/diagnostics/codes.ts and a sentence.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string>

namespace rlx {

enum class Code {
  input_not_found,
  input_unreadable,
  input_changed,
  input_argument,
  unsupported_op,
  unsupported_tensor_type,
  env_no_memory,
  env_io,
  ir_shape,
  ir_type,
  ir_structure,
  run_failed,
  run_context_full,
  handle_unknown,
  handle_busy,
  cancelled,
  bug_invariant,
};

constexpr const char* code_name(Code code) {
  switch (code) {
    case Code::input_not_found: return "INPUT_NOT_FOUND";
    case Code::input_unreadable: return "INPUT_UNREADABLE";
    case Code::input_changed: return "INPUT_CHANGED";
    case Code::input_argument: return "INPUT_ARGUMENT";
    case Code::unsupported_op: return "UNSUPPORTED_OP";
    case Code::unsupported_tensor_type: return "UNSUPPORTED_TENSOR_TYPE";
    case Code::env_no_memory: return "ENV_NO_MEMORY";
    case Code::env_io: return "ENV_IO";
    case Code::ir_shape: return "IR_SHAPE";
    case Code::ir_type: return "IR_TYPE";
    case Code::ir_structure: return "IR_STRUCTURE";
    case Code::run_failed: return "RUN_FAILED";
    case Code::run_context_full: return "RUN_CONTEXT_FULL";
    case Code::handle_unknown: return "HANDLE_UNKNOWN";
    case Code::handle_busy: return "HANDLE_BUSY";
    case Code::cancelled: return "CANCELLED";
    case Code::bug_invariant: return "BUG_INVARIANT";
  }
  return "BUG_UNEXPECTED";
}

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Code code_;
  std::string message_;
};

[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(Code code, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  throw Error(code, text);
}

}  // namespace rlx
