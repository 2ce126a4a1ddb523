// What the parts of the double share among themselves.
#pragma once

#import <Foundation/Foundation.h>

#include <functional>
#include <string>
#include <vector>

#include "control.h"

namespace coreml_double {

struct Behaviour {
  int major = 15, minor = 5;
  bool ane = true, noise = true, backings = true, low_power = false;
  std::string os_build = "24F74", refuse;
  std::string compile = "ok", load = "ok", predict = "ok", plan = "ok";
  int compile_ms = 0, load_ms = 0, predict_ms = 0, pad = 64, thermal = 0;
};
Behaviour behaviour();
Reply evaluate(const Request& request);

// The framework's own threads: every handler is called on one.
void on_other_thread(std::function<void()> work);
void sleep_ms(int ms);
// Raises what a program meets that calls what its system does not have.
void needs(int major, int minor, const char* what);
// "throw", "kill", "abort" and "hang" happen here; gives true for "fail".
bool act_out(const std::string& what, const char* where);

std::string text_of(NSString* _Nonnull string);
NSString* _Nonnull string_of(const std::string& text);
[[noreturn]] void raise(const std::string& reason);
NSError* _Nonnull error_of(NSInteger code, const std::string& sentence);

void count_prediction(int change);
void count_backing();
void note_configuration(std::string text);

}  // namespace coreml_double
