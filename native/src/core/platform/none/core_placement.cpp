// A system that does not tell where a thread runs, or needs no help to spread threads.
#include "../../core_placement.h"

namespace rlx {

void CorePlacement::begin(size_t) {}
void CorePlacement::enter(size_t) {}
void CorePlacement::leave(size_t) {}
CorePlacement::Spread CorePlacement::spread(size_t) const { return Spread::full; }

}  // namespace rlx
