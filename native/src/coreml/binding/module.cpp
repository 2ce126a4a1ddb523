// Registers the addon over Apple's frameworks.
#include "addon.h"

namespace {
Napi::Object init(Napi::Env env, Napi::Object exports) { return rlx::coreml::init_addon(env, exports, "measured"); }
}  // namespace

NODE_API_MODULE(rlx_coreml, init)
