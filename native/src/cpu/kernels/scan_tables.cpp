// The table of recurrences of each instruction set of this build.
#include "scan.h"

namespace rlx::kernels {

#define RLX_SCANS(isa)               \
  namespace isa {                    \
  extern const ScanTable kScanTable; \
  }
RLX_SCANS(scalar)
#if defined(RLX_HAVE_X86)
RLX_SCANS(avx2)
RLX_SCANS(avx512)
#endif
#if defined(RLX_HAVE_ARM)
RLX_SCANS(neon)
RLX_SCANS(neon_dot)
#endif
#undef RLX_SCANS

const ScanTable& scan_table(Isa isa) {
  switch (isa) {
#if defined(RLX_HAVE_X86)
    case Isa::avx2: return avx2::kScanTable;
    case Isa::avx512:
    case Isa::amx: return avx512::kScanTable;
#endif
#if defined(RLX_HAVE_ARM)
    case Isa::neon: return neon::kScanTable;
    case Isa::neon_dot:
    case Isa::neon_i8mm: return neon_dot::kScanTable;
#endif
    default: return scalar::kScanTable;
  }
}

}  // namespace rlx::kernels
