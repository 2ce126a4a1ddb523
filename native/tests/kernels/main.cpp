// Runs every case on every instruction set that this processor has, and says which were not run.
//   kernels_test neon   on this one only
//   kernels_test 1/4    every fourth case, from the first on: parts run beside each other
#include "check.h"

int main(int argc, char** argv) {
  using namespace test;
  const char* only = argc > 1 ? argv[1] : nullptr;
  int part = 1, parts = 1;
  if (only != nullptr && std::sscanf(only, "%d/%d", &part, &parts) == 2) only = nullptr;
  if (part < 1 || parts < part) {
    std::printf("a part: got %s, expected one such as 1/4\n", argv[1]);
    return 2;
  }
  Isa found[kIsaCount];
  const size_t count = available_isas(found);
  int ran = 0;
  for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::amx, Isa::neon, Isa::neon_dot, Isa::neon_i8mm}) {
    if (only != nullptr && std::strcmp(only, isa_name(isa)) != 0) continue;
    bool here = false;
    for (size_t i = 0; i < count; ++i) here = here || found[i] == isa;
    if (!here) {
      std::printf("%-9s not run: this build or processor lacks it\n", isa_name(isa));
      continue;
    }
    const int checks_before = checks, failures_before = failures;
#ifdef __SANITIZE_ADDRESS__
    // Sets that a processor lacks are compiled without sanitizers; one that it has, and runs here,
    // must not be.
    check("watched by the sanitizers", dispatch_for(isa)->watched);
#endif
    int place = 0;
    for (const Case& c : cases()) {
      if (place++ % parts != part - 1) continue;
      current = c.name;
      c.run(*dispatch_for(isa));
    }
    std::printf("%-9s %d checks, %d failures\n", isa_name(isa), checks - checks_before, failures - failures_before);
    ++ran;
  }
  if (ran == 0) std::printf("nothing ran\n");
  return failures == 0 && ran > 0 ? 0 : 1;
}
