#include "kernel.h"

#include <cmath>
#include <cstring>
#include <span>

#include "ops/tables.h"

namespace rlx {

const Param* Params::find(const char* name) const {
  for (const Param& param : instruction_.params)
    if (param.name == name) return &param;
  return nullptr;
}

const std::string* Params::starting(const std::string& prefix) const {
  for (const Param& param : instruction_.params)
    if (param.name.starts_with(prefix)) return &param.name;
  return nullptr;
}

double Params::value(const Param::Value& value) const {
  if (value.expression < 0) return value.number;
  return static_cast<double>(plan_.expressions[static_cast<size_t>(value.expression)].evaluate_signed(symbols_));
}

double Params::number(const char* name, double otherwise) const {
  const Param* param = find(name);
  if (param == nullptr) return otherwise;
  if (param->values.size() != 1)
    fail(Code::ir_structure, "[%s] parameter %s: got %zu values, expected one", instruction_.kernel->name, name,
         param->values.size());
  return value(param->values[0]);
}

int64_t Params::integer(const char* name, int64_t otherwise, int64_t low, int64_t high) const {
  const double found = number(name, static_cast<double>(otherwise));
  if (!(found >= static_cast<double>(low) && found <= static_cast<double>(high)) || found != std::floor(found))
    fail(Code::ir_structure, "[%s] parameter %s: got %g, expected %lld to %lld", instruction_.kernel->name, name, found,
         static_cast<long long>(low), static_cast<long long>(high));
  return static_cast<int64_t>(found);
}

std::vector<double> Params::numbers(const char* name) const {
  const Param* param = find(name);
  if (param == nullptr) fail(Code::ir_structure, "[%s] parameter %s is missing", instruction_.kernel->name, name);
  std::vector<double> result;
  result.reserve(param->values.size());
  for (const Param::Value& entry : param->values) result.push_back(value(entry));
  return result;
}

std::vector<int64_t> Params::list(const char* name) const {
  std::vector<int64_t> result;
  for (const double number : numbers(name)) {
    if (!(number >= -9007199254740991.0 && number <= 9007199254740991.0) || number != std::floor(number))
      fail(Code::ir_structure, "[%s] parameter %s: got %g, expected whole numbers", instruction_.kernel->name, name,
           number);
    result.push_back(static_cast<int64_t>(number));
  }
  return result;
}

void Op::reject(Code code, const char* format, ...) const {
  char text[400];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  throw Error(code, std::string("[") + c.name + "] " + text);
}

void Op::arity(size_t min_in, size_t max_in, size_t outputs) const {
  if (c.in.size() < min_in || c.in.size() > max_in || c.out.size() != outputs)
    reject(Code::ir_structure, "operands: got %zu in and %zu out, expected %zu to %zu in and %zu out", c.in.size(),
           c.out.size(), min_in, max_in, outputs);
  for (size_t i = 0; i < min_in; i++)
    if (c.in[i] == nullptr) reject(Code::ir_structure, "operand %zu is missing", i);
  for (const Tensor* tensor : c.out)
    if (tensor == nullptr) reject(Code::ir_structure, "an output is missing");
}

void Op::stop(const char* message, Code code) const {
  bool expected = false;
  if (!c.failure->claimed.compare_exchange_strong(expected, true)) return;
  c.failure->code = code;
  c.failure->message = std::string("[") + c.name + "] " + message;
  c.failure->failed.store(true, std::memory_order_release);
}

size_t Op::traffic() const {
  size_t total = 0;
  for (const Tensor* tensor : c.in)
    if (tensor != nullptr) total += tensor->bytes;
  for (const Tensor* tensor : c.out) total += tensor->bytes;
  return total;
}

const KernelEntry* find_kernel(const char* name) {
  for (const std::span<const KernelEntry> table : kKernelTables())
    for (const KernelEntry& entry : table)
      if (std::strcmp(entry.name, name) == 0) return &entry;
  return nullptr;
}

std::vector<const char*> kernel_names() {
  std::vector<const char*> names;
  for (const std::span<const KernelEntry> table : kKernelTables())
    for (const KernelEntry& entry : table) names.push_back(entry.name);
  return names;
}

}  // namespace rlx
