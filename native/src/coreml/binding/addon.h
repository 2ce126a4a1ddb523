// The exports of the addon, for the file that registers it with Node.
#pragma once

#include <napi.h>

namespace rlx::coreml {

// `truth`: how the numbers of this build come about, "measured" or "simulated".
Napi::Object init_addon(Napi::Env env, Napi::Object exports, const char* truth);

}  // namespace rlx::coreml
