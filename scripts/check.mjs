// `npm run check`: the quick loop. Format, lint and walls, types, lock file, then the fast unit tests and the proof that
// every net catches. Builds nothing and needs neither Python nor the native engine.
import { npmProgram, run, runCaptured } from "./lib/process.mjs";

const began = Date.now();
const seconds = (from) => `${((Date.now() - from) / 1000).toFixed(1)} s`;

export const staticChecks = [
  {
    name: "format",
    command: npmProgram("prettier"),
    args: ["--check", "--log-level", "warn", "--cache", "--cache-location", ".cache/prettier", "."],
  },
  { name: "format of C++", command: process.execPath, args: ["scripts/nativeFormat.mjs"] },
  { name: "lint and walls", command: process.execPath, args: ["scripts/lint.mjs"] },
  { name: "types", command: process.execPath, args: ["scripts/typecheck.mjs"] },
  { name: "lock file", command: process.execPath, args: ["scripts/lockCheck.mjs"] },
  {
    name: "lock file of the peers",
    command: process.execPath,
    args: ["scripts/lockCheck.mjs", "bench/peers/package-lock.json"],
  },
];

/** What `npm test` asks besides: clang-tidy takes minutes the first time, and work in progress has unused exports. */
export const allStaticChecks = [
  ...staticChecks,
  { name: "clang-tidy", command: process.execPath, args: ["scripts/nativeTidy.mjs"] },
  { name: "unused files, exports and packages (npx knip)", command: npmProgram("knip"), args: ["--no-progress"] },
];

/** Runs checks that look at the text only, side by side; gives the names of those that failed. */
export async function runStaticChecks(checks = staticChecks) {
  const failed = [];
  await Promise.all(
    checks.map(async ({ name, command, args }) => {
      const start = Date.now();
      const { code, output } = await runCaptured(command, args);
      console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds(start)})`);
      if (code !== 0) console.log(`${output.trim()}\n`);
      if (code !== 0) failed.push(name);
    }),
  );
  return failed;
}

if (process.argv[1]?.endsWith("check.mjs")) {
  const failed = await runStaticChecks();
  const tests = await run(npmProgram("vitest"), [
    "run",
    "--project",
    "unit",
    "--project",
    "shell",
    "--project",
    "tools",
    "--reporter=default",
  ]);
  if (tests !== 0) failed.push("unit tests");
  console.log(failed.length > 0 ? `check FAILED: ${failed.join(", ")}` : `check ok (${seconds(began)})`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
