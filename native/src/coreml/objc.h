// Shared by the Objective-C++ files of the bridge: waiting for handlers, errors, names. Never
// included by plain C++.
#pragma once

#import <CoreML/CoreML.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "bridge.h"

namespace rlx::coreml {

inline NSString* _Nonnull string_of(const std::string& text) {
  NSString* made = [NSString stringWithUTF8String:text.c_str()];
  return made ? made : @"";
}
inline std::string text_of(NSString* _Nullable string) {
  const char* text = string ? string.UTF8String : nullptr;
  return text ? text : "";
}
inline NSURL* _Nonnull url_of(const std::string& path) { return [NSURL fileURLWithPath:string_of(path)]; }

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What went wrong in `stage` ("compile", "load", "prediction", "plan"), as one of our codes.
Failure failure_of(NSError* _Nullable error, const char* _Nonnull stage);
Failure failure_of(NSException* _Nonnull exception, const char* _Nonnull stage);

inline void throw_if_cancelled(const Cancel& cancel) {
  if (cancel && cancel->load()) throw Failure("CANCELLED", "Cancelled.");
}

// Runs `body` with Objective-C exceptions turned into failures, and its temporary objects gone
// afterwards: a failure leaves the pool before it is thrown on, because unwinding does not drain
// pools.
template <class Body>
auto guarded(const char* _Nonnull stage, Body&& body) {
  std::unique_ptr<Failure> failure;
  @autoreleasepool {
    @try {
      try {
        return body();
      } catch (const Failure& problem) {
        failure = std::make_unique<Failure>(problem);
      }
    } @catch (NSException* exception) {
      failure = std::make_unique<Failure>(failure_of(exception, stage));
    }
  }
  throw Failure(*failure);
}

// One answer from a handler that runs on a thread of the system. A waiter that is cancelled leaves;
// the answer then goes nowhere but into this box, which the handler owns too.
template <class Value>
class Answer {
 public:
  void give(Value value, std::unique_ptr<Failure> failure) {
    std::lock_guard guard(mutex_);
    value_ = value;
    failure_ = std::move(failure);
    given_ = true;
    ready_.notify_all();
  }
  Value wait(const Cancel& cancel) {
    std::unique_lock guard(mutex_);
    while (!given_) {
      if (cancel && cancel->load()) {
        left_ = true;
        throw Failure("CANCELLED", "Cancelled.");
      }
      ready_.wait_for(guard, std::chrono::milliseconds(20));
    }
    if (failure_) throw *failure_;
    return value_;
  }
  // Whether the caller has stopped waiting: the handler then cleans up a late result.
  bool abandoned() {
    std::lock_guard guard(mutex_);
    return left_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  Value value_{};
  std::unique_ptr<Failure> failure_;
  bool given_ = false, left_ = false;
};

DType dtype_of(MLMultiArrayDataType type);
MLMultiArrayDataType data_type_of(DType type);
Shape shape_of(NSArray<NSNumber*>* _Nonnull numbers);
NSArray<NSNumber*>* _Nonnull numbers_of(const Shape& shape);

MLModelConfiguration* _Nonnull configuration_of(const LoadOptions& options);

}  // namespace rlx::coreml
