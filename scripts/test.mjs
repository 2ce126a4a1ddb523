// `npm test`: sets everything up and runs every suite, then sums over all runners. The last line reads
//   N passed, N failed, N skipped
// and every skip and failure is listed above it. With CI=true a suite that cannot run is a failure, unless what it
// lacks is Apple hardware or the Electron runtime, and so is a skip for a reason that lib/tally.mjs does not allow.
// `node scripts/test.mjs unit native` runs the named suites only.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  canEmulateWindows,
  findChromium,
  findCmake,
  hasArm64Emulation,
  hasElectron,
  hasWindowsEmulation,
  lacksDouble,
} from "./lib/environment.mjs";
import { isCi, npmProgram, root, run, runCaptured } from "./lib/process.mjs";
import { addTallies, readCtest, readPlaywright, readVitest, withoutExcuses } from "./lib/tally.mjs";
import { prepareWine } from "./lib/wine.mjs";
import { lacksSanitizedAddon, lacksSanitizedMlx, sanitizeAddon, sanitizeMlx } from "./sanitize.mjs";
import { setup } from "./setup.mjs";

const reports = join(root, ".cache/reports");
const began = Date.now();
const seconds = (from) => Math.round((Date.now() - from) / 1000);
const none = () => ({ passed: 0, failed: 0, skips: [], failures: [] });

/** The checks of a name, or all but those of a name. */
function checkSuite({ only, without }) {
  return async () => {
    const { allStaticChecks, runStaticChecks } = await import("./check.mjs");
    const chosen = allStaticChecks.filter(({ name }) => (only === undefined ? name !== without : name === only));
    const failures = await runStaticChecks(chosen);
    return { ...none(), passed: chosen.length - failures.length, failed: failures.length, failures };
  };
}

async function buildSuite() {
  const { build } = await import("./build.mjs");
  const complete = await build({ say: console.log });
  return complete ? { ...none(), passed: 1 } : { ...none(), failed: 1, failures: ["the build"] };
}

function vitestSuite(...projects) {
  return async (name) => {
    const file = join(reports, `${name}.json`);
    const chosen = projects.flatMap((project) => ["--project", project]);
    const shown = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const code = await run(npmProgram("vitest"), ["run", ...chosen, ...shown]);
    return orFailure(readVitest(file), code);
  };
}

/** What `compileAhead` has begun. */
let ahead = Promise.resolve();

/**
 * Compiles what later suites need while earlier ones wait for a browser or a process. A problem is not told here: the
 * suite compiles again, and tells it.
 */
async function compileAhead(builds) {
  const node = process.execPath;
  for (const build of builds) await runCaptured(node, ["scripts/buildNative.mjs", build], { isIdle: true });
  await runCaptured(node, ["scripts/nativeTidy.mjs"], { isIdle: true });
}

function ctestSuite(build, prepare = async () => undefined) {
  return async (name) => {
    await ahead;
    const { buildNative, nativeBuilds } = await import("./buildNative.mjs");
    const problem = (await buildNative(build)) ?? (await prepare());
    if (problem) return { ...none(), failed: 1, failures: [`native ${build}: ${problem}`] };
    const file = join(reports, `${name}.xml`);
    const ctest = findCmake() === "cmake" ? "ctest" : findCmake().replace(/cmake(\.exe)?$/, "ctest$1");
    const folder = nativeBuilds[build].folder;
    const shared = ["--parallel", String(availableParallelism()), "--timeout", "900"];
    const args = ["--test-dir", folder, "--output-on-failure", "--output-junit", file, ...shared];
    const { code, output } = await runCaptured(ctest, args);
    if (code !== 0) console.log(output.trim());
    return orFailure(readCtest(file), code);
  };
}

function sanitizedSuite(act) {
  return async () => {
    const { code, output } = await act();
    console.log(output.trim());
    if (code === 0) return { ...none(), passed: 1 };
    return { ...none(), failed: 1, failures: [`the addon in Node ended with ${code}`] };
  };
}

const playwrightConfig = () =>
  ["playwright.config.ts", "e2e/playwright.config.ts"].find((path) => existsSync(join(root, path)));

function playwrightSuite(...projects) {
  return async (name) => {
    const file = join(reports, `${name}.json`);
    const chosen = projects.map((project) => `--project=${project}`);
    const code = await run(
      npmProgram("playwright"),
      ["test", "-c", playwrightConfig(), "--reporter=line,json", ...chosen],
      {
        env: { PLAYWRIGHT_JSON_OUTPUT_NAME: file, RLX_CHROMIUM: findChromium() ?? "" },
      },
    );
    return orFailure(readPlaywright(file), code);
  };
}

/** A runner that fails without a failed test counts as a failure itself. */
function orFailure(tally, code) {
  if (code === 0 || tally.failed > 0) return tally;
  return { ...tally, failed: 1, failures: [`the runner ended with ${code}`] };
}

const hasSpecs = () =>
  existsSync(join(root, "e2e")) &&
  readdirSync(join(root, "e2e"), { recursive: true }).some((path) => path.endsWith(".spec.ts"));
const hasNativeTests = () => existsSync(join(root, "native/tests/CMakeLists.txt"));

/**
 * In order. `when`: whether the suite exists at all; `lacks`: why it cannot run here; `mayLack`: that this is the
 * machine's fault (Apple hardware, Electron's runtime) and no failure even in CI; `build`: what is compiled ahead for it,
 * beside the suites from "native" on.
 */
const suites = [
  { name: "static", act: checkSuite({ without: "clang-tidy" }) },
  { name: "build", act: buildSuite },
  { name: "unit", act: vitestSuite("unit", "shell", "tools") },
  {
    name: "native",
    lacks: () => !existsSync(join(root, "native/build/rlx.node")) && "the native engine is not built",
    act: vitestSuite("native"),
  },
  { name: "oracle", act: vitestSuite("oracle") },
  { name: "slow", act: vitestSuite("slow") },
  // The timed specs bring those of "chromium" along, and wait for them.
  { name: "window", when: hasSpecs, lacks: () => !findChromium() && "no Chromium", act: playwrightSuite("timed") },
  {
    name: "electron",
    when: hasSpecs,
    lacks: () => !hasElectron() && "no Electron runtime",
    mayLack: !process.env["REQUIRE_ELECTRON"],
    act: playwrightSuite("electron"),
  },
  { name: "kernels", when: hasNativeTests, lacks: () => !findCmake() && "no CMake", act: ctestSuite("tests") },
  {
    name: "sanitizers",
    when: hasNativeTests,
    lacks: () => !findCmake() && "no CMake",
    act: ctestSuite("sanitize"),
    build: "sanitize",
  },
  {
    name: "addon under sanitizers",
    when: hasNativeTests,
    lacks: lacksSanitizedAddon,
    mayLack: process.platform !== "linux",
    act: sanitizedSuite(sanitizeAddon),
  },
  {
    name: "mlx under sanitizers",
    when: hasNativeTests,
    lacks: lacksSanitizedMlx,
    mayLack: process.platform !== "linux",
    act: sanitizedSuite(sanitizeMlx),
  },
  {
    name: "kernels on arm64",
    when: () => hasNativeTests() && process.arch !== "arm64",
    lacks: () => !hasArm64Emulation() && "no cross compiler and emulator",
    act: ctestSuite("arm64"),
    build: "arm64",
  },
  {
    name: "kernels on Windows",
    when: () => hasNativeTests() && canEmulateWindows(),
    lacks: () => !hasWindowsEmulation() && "no cross compiler and Wine",
    act: ctestSuite("windows", prepareWine),
    build: "windows",
  },
  {
    name: "coreml bridge",
    when: hasNativeTests,
    lacks: () => (findCmake() ? lacksDouble() : "no CMake"),
    mayLack: process.platform !== "linux" || process.arch !== "x64",
    act: ctestSuite("coremlSanitize"),
    build: "coremlSanitize",
  },
  {
    name: "clang-tidy",
    act: async () => {
      await ahead;
      return checkSuite({ only: "clang-tidy" })();
    },
  },
];

const buildsAhead = () =>
  suites.flatMap(({ build, when, lacks }) => (build !== undefined && (when?.() ?? true) && !lacks?.() ? [build] : []));

async function runSuite({ name, lacks, mayLack, act }) {
  console.log(`\n== ${name}`);
  const start = Date.now();
  const missing = lacks?.();
  if (missing && isCi && !mayLack) return { ...none(), failed: 1, failures: [`not available: ${missing}`] };
  if (missing) {
    console.log(`not available: ${missing}`);
    return { ...none(), skips: [`the whole suite, not available: ${missing}`] };
  }
  const counted = await act(name.replaceAll(" ", "-"));
  const tally = isCi ? withoutExcuses(counted) : counted;
  console.log(
    `${name}: ${tally.passed} passed, ${tally.failed} failed, ${tally.skips.length} skipped (${seconds(start)} s)`,
  );
  return tally;
}

async function main() {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !suites.some((suite) => suite.name === name));
  if (unknown.length > 0)
    throw new Error(`no suite ${unknown.join(", ")}, have ${suites.map(({ name }) => name).join(", ")}`);

  const results = [];
  const missing = await setup({ all: true });
  const lost = isCi ? missing : [];
  results.push({
    name: "setup",
    ...none(),
    failed: lost.length,
    failures: lost.map(({ name, reason }) => `${name}: ${reason}`),
  });
  for (const suite of suites) {
    if (wanted.length > 0 ? !wanted.includes(suite.name) : suite.when && !suite.when()) continue;
    if (wanted.length === 0 && suite.name === "native") ahead = compileAhead(buildsAhead());
    results.push({ name: suite.name, ...(await runSuite(suite)) });
  }

  const line = (kind, entries) => entries.forEach(([name, text]) => console.log(`${kind} ${name}: ${text}`));
  console.log(`\n== summary (${seconds(began)} s)`);
  line(
    "skipped",
    results.flatMap(({ name, skips }) => skips.map((text) => [name, text])),
  );
  line(
    "failed ",
    results.flatMap(({ name, failures }) => failures.map((text) => [name, text])),
  );
  const total = addTallies(results);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exit(total.failed > 0 ? 1 : 0);
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  console.log("0 passed, 1 failed, 0 skipped");
  process.exit(1);
}
