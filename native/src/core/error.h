// The one error of the native engine: a code of main/diagnostics/codes.ts and a sentence.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

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

// The exception that is being handled as an Error. The core throws no std::system_error of its own:
// one comes from a thread or a lock that the system refuses.
inline Error current_error(const char* part) {
  const std::string who = std::string("[") + part + "] ";
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::env_no_memory, who + "out of memory");
  } catch (const std::system_error& error) {
    return Error(Code::env_no_memory,
                 who + "the system refused a thread: " + error.what() + ". Use fewer threads, or end other programs.");
  } catch (const std::exception& error) {
    return Error(Code::bug_invariant, who + error.what());
  }
}

}  // namespace rlx
