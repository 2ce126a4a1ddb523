#include "evaluate.h"

#include <mlx/transforms.h>

#include <exception>
#include <new>
#include <utility>

#include "../core/error.h"

namespace rlx::gpu {

void evaluate(std::vector<mx::array> wanted, bool waits) {
  try {
    waits ? mx::eval(std::move(wanted)) : mx::async_eval(std::move(wanted));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(Code::run_failed, "[mlx] the evaluation failed (the eager mode names the call): %s", error.what());
  }
}

}  // namespace rlx::gpu
