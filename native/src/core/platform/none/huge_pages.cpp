// A system that cannot move mapped files to larger pages.
#include "../../huge_pages.h"

namespace rlx {

bool HugePages::available() { return false; }
void HugePages::begin(std::vector<Mapping>, Way) {}

}  // namespace rlx
