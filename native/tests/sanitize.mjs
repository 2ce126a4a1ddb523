// The native code under AddressSanitizer and UndefinedBehaviourSanitizer: the C++ tests of the core, then the addon in
// Node with its life-cycle tests. Any finding ends with a non-zero code.   node native/tests/sanitize.mjs
import { execFileSync, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
if (process.platform !== "linux") {
  console.log("sanitize: not run here (it preloads libasan, which is the way on Linux)");
  process.exit(0);
}

function step(title, program, parameters, environment = {}) {
  console.log(`== ${title}`);
  const { status } = spawnSync(program, parameters, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  if (status !== 0) {
    console.error(`sanitize: ${title} ended with ${status}`);
    process.exit(1);
  }
}

const build = "native/build-sanitize";
const setUp = ["-S", "native", "-B", build, "-DRLX_SANITIZE=ON", "-DRLX_TESTS=ON", "-DRLX_ADDON=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"];
step("configure", "cmake", setUp);
step("build", "cmake", ["--build", build, "--target", "core_tests", "rlx", "--parallel", process.env["RLX_NATIVE_JOBS"] ?? "2"]);
const strict = { UBSAN_OPTIONS: "halt_on_error=1:print_stacktrace=1", ASAN_OPTIONS: "detect_leaks=1" };
step("core tests", join(root, build, "tests/core_tests"), [], strict);

// Node itself keeps memory until it ends, so leaks are looked for in the core tests only.
const library = (name) => execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
step("addon in Node", process.execPath, ["--import", "tsx", "main/testing/sanitizeAddon.ts", join(root, build, "rlx.node")], {
  LD_PRELOAD: `${library("libasan.so")} ${library("libubsan.so")}`,
  ASAN_OPTIONS: "detect_leaks=0:handle_sigbus=0",
  UBSAN_OPTIONS: strict.UBSAN_OPTIONS,
});
console.log("sanitize: clean");
