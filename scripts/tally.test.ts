// The sums at the end of `npm test`: a failure, a skip or a runner that never ran must not get lost in them.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { addTallies, readCtest, readPlaywright, readVitest, withoutExcuses } from "./lib/tally.mjs";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-tally-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function report(text: string): Promise<string> {
  const file = join(folder, "report");
  await writeFile(file, text);
  return file;
}

it("reads vitest, with files that could not even be loaded", async () => {
  const tests = ["passed", "passed", "failed", "skipped", "todo"].map((status) => ({
    status,
    fullName: `a ${status}`,
  }));
  const testResults = [
    { name: "a.test.ts", status: "failed", message: "", assertionResults: tests },
    { name: "b.test.ts", status: "failed", message: "cannot find x\nat", assertionResults: [] },
  ];
  expect(readVitest(await report(JSON.stringify({ testResults })))).toEqual({
    passed: 2,
    failed: 2,
    skips: ["a skipped", "a todo"],
    failures: ["a failed", "b.test.ts: cannot find x"],
  });
});

it("reads playwright, with the reason of a skip", async () => {
  const test = (status: string, annotations: object[] = []) => ({ status, annotations, projectName: "chromium" });
  const specs = [
    { title: "one", tests: [test("expected")] },
    { title: "two", tests: [test("unexpected")] },
    { title: "three", tests: [test("skipped", [{ type: "skip", description: "no Electron" }])] },
  ];
  const suites = [{ title: "a.spec.ts", specs: [], suites: [{ title: "group", specs }] }];
  expect(readPlaywright(await report(JSON.stringify({ suites, errors: [{ message: "config\nx" }] })))).toEqual({
    passed: 1,
    failed: 2,
    skips: ["chromium: a.spec.ts > group > three (no Electron)"],
    failures: ["chromium: a.spec.ts > group > two", "config"],
  });
});

it("reads ctest, with the reason of a skip", async () => {
  const cases = ['name="a" status="run"', 'name="b" status="fail"', 'name="c" status="notrun"'];
  const said = `<testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>not available: ggml\n</system-out></testcase>`;
  const xml = `<testsuite>${cases.map((attributes) => `<testcase ${attributes}></testcase>`).join("\n")}${said}</testsuite>`;
  const skips = ["c", "d (not available: ggml)"];
  expect(readCtest(await report(xml))).toEqual({ passed: 1, failed: 1, skips, failures: ["b"] });
});

it("counts a runner without a report or without tests as a failure", async () => {
  for (const reader of [readVitest, readPlaywright, readCtest]) {
    expect(reader(join(folder, "nothing")).failed).toBe(1);
  }
  expect(readCtest(await report("<testsuite></testsuite>")).failed).toBe(1);
});

it("makes a failure of a skip without a reason that CI allows, and keeps the others", () => {
  const allowed = [
    "Core ML (Core ML exists on Macs only) knows the machine",
    "electron: app.spec.ts > starts (no Electron runtime on this machine)",
    "pairs are all the same skipped: shared data without vocab/gpt-2.gguf (RLX_SHARED_DATA names its folder)",
    "no templates here one question",
    "the network does not reach it (this machine has no address on a network)",
  ];
  const refused = [
    "linear q4_k",
    "dequantisation_against_ggml (not available: libggml-base (npm ci in bench/peers))",
    "sample model (the sample model is not here) gives the CPU engine's tokens",
    "bridge (the bridge was not built against the Core ML double: it needs clang++-19 on x86-64 Linux) loads",
  ];
  const tally = { passed: 3, failed: 1, skips: [...allowed, ...refused], failures: ["a"] };
  const judged = withoutExcuses(tally, true);
  expect(judged).toMatchObject({ passed: 3, failed: 1 + refused.length, skips: allowed });
  expect(judged.failures).toEqual(["a", ...refused.map((skip) => expect.stringContaining(skip) as string)]);
});

it("excuses the want of x86-64 Linux elsewhere only", () => {
  const skips = ["the growth (only Linux begins anew)", "bridge (it needs clang++-19 on x86-64 Linux)"];
  const tally = { passed: 0, failed: 0, skips, failures: [] };
  expect(withoutExcuses(tally, true)).toMatchObject({ failed: 2, skips: [] });
  expect(withoutExcuses(tally, false)).toEqual(tally);
});

it("adds", () => {
  const tallies = [
    { passed: 1, failed: 0, skips: ["a"], failures: [] },
    { passed: 2, failed: 1, skips: [], failures: ["b"] },
  ];
  expect(addTallies(tallies)).toEqual({ passed: 3, failed: 1, skipped: 1 });
});
