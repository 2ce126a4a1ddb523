// Counting what test runners report: each reader turns a reporter's file into {passed, failed, skipped, skips, failures}.
import { existsSync, readFileSync } from "node:fs";

const read = (file) => (existsSync(file) ? readFileSync(file, "utf8") : undefined);

/** A runner that left no report did not run: one failure, never zero. */
const lost = (what) => ({ passed: 0, failed: 1, skips: [], failures: [`${what} left no report`] });

export function readVitest(file) {
  const text = read(file);
  if (text === undefined) return lost("vitest");
  const { testResults } = JSON.parse(text);
  const tally = { passed: 0, failed: 0, skips: [], failures: [] };
  for (const { name, status, message, assertionResults } of testResults) {
    for (const test of assertionResults) {
      if (test.status === "passed") tally.passed++;
      else if (test.status === "failed") {
        tally.failed++;
        tally.failures.push(test.fullName);
      } else tally.skips.push(test.fullName);
    }
    if (status === "failed" && !assertionResults.some((test) => test.status === "failed")) {
      tally.failed++;
      tally.failures.push(`${name}: ${String(message).split("\n")[0]}`);
    }
  }
  return tally;
}

export function readPlaywright(file) {
  const text = read(file);
  if (text === undefined) return lost("playwright");
  const report = JSON.parse(text);
  const tally = { passed: 0, failed: 0, skips: [], failures: [] };
  const walk = (suite, path) => {
    for (const spec of suite.specs ?? []) {
      const title = [...path, spec.title].join(" > ");
      for (const { status, annotations = [], projectName } of spec.tests) {
        const reason = annotations.find(({ type }) => type === "skip")?.description;
        if (status === "skipped") tally.skips.push(`${projectName}: ${title}${reason ? ` (${reason})` : ""}`);
        else if (status === "unexpected") {
          tally.failed++;
          tally.failures.push(`${projectName}: ${title}`);
        } else tally.passed++;
      }
    }
    for (const inner of suite.suites ?? []) walk(inner, [...path, inner.title]);
  };
  for (const suite of report.suites) walk(suite, [suite.title]);
  for (const { message } of report.errors ?? []) {
    tally.failed++;
    tally.failures.push(String(message).split("\n")[0]);
  }
  return tally;
}

/** CTest's JUnit file: one entry per test program. A program that skips itself says why in its first line. */
export function readCtest(file) {
  const text = read(file);
  if (text === undefined) return lost("ctest");
  const tally = { passed: 0, failed: 0, skips: [], failures: [] };
  for (const [, attributes, body] of text.matchAll(/<testcase ([^>]*)>(.*?)<\/testcase>/gs)) {
    const name = /name="([^"]*)"/.exec(attributes)?.[1] ?? "?";
    const status = /status="([^"]*)"/.exec(attributes)?.[1];
    if (status === "run") tally.passed++;
    else if (status === "fail") {
      tally.failed++;
      tally.failures.push(name);
    } else {
      const reason = /<system-out>\s*([^\n<]+)/.exec(body)?.[1];
      tally.skips.push(reason ? `${name} (${reason.trim()})` : name);
    }
  }
  if (tally.passed + tally.failed + tally.skips.length === 0) return lost("ctest found no tests and");
  return tally;
}

/** Reasons that CI accepts everywhere. */
const EXCUSES = [
  "Core ML exists on Macs only",
  "without a Mac (this is one)",
  "this is a Mac",
  "no Electron runtime",
  "shared data without",
  "no templates here",
  "this machine has no address on a network",
  "the real models are not fetched",
];
/** Reasons that CI accepts everywhere but on x86-64 Linux, which has all of this. */
const EXCUSES_ELSEWHERE = ["x86-64 Linux", "only Linux", "AVX2", "/dev/full", "macOS 15 on"];

/** Turns skips into failures unless their reason is accepted. */
export function withoutExcuses(tally, isLinuxPc = process.platform === "linux" && process.arch === "x64") {
  const excuses = isLinuxPc ? EXCUSES : [...EXCUSES, ...EXCUSES_ELSEWHERE];
  const isExcused = (skip) => excuses.some((excuse) => skip.includes(excuse));
  const refused = tally.skips.filter((skip) => !isExcused(skip));
  return {
    ...tally,
    failed: tally.failed + refused.length,
    skips: tally.skips.filter(isExcused),
    failures: [...tally.failures, ...refused.map((skip) => `skipped, for no reason that CI allows: ${skip}`)],
  };
}

export function addTallies(tallies) {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    skipped: tallies.reduce((sum, { skips }) => sum + skips.length, 0),
  };
}
