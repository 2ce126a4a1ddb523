import { expect, test } from "vitest";
import type { ProfilePhase, RunSpan } from "../../runtime/profile.ts";
import { profileSentence } from "./profileSentence.ts";

const row = (op: string, seconds: number, share: number) => ({
  ...{ op, share, seconds, count: 1, bytes: 2.5e9, bandwidth: 1 },
});
const phase = (seconds: number, rows = [row("linear", 0.6, 0.75), row("attention", 0.2, 0.25)]): ProfilePhase => ({
  ...{ seconds, rows, tokens: 1, basis: "" },
});
/** Written tokens whose steps take `seconds`, with `between` seconds until the next. */
const runs = (seconds: number, between: number): readonly RunSpan[] =>
  [0, 1, 2].map((i) => ({ start: i * (seconds + between), seconds, tokens: 1, decode: true }));

test("the sentence names the largest part of the whole token, and what its bytes say of memory", () => {
  expect(profileSentence({ decode: phase(1), runs: runs(1, 0) }, 10e9)).toBe(
    "A typical token spends 60 % of its time in linear. A step reads memory at 50 % of what this machine can.",
  );
});

test("what lies between two steps belongs to the token: shares are not those of the operations alone", () => {
  // 0.6 s of linear in a token of 1 + 9 seconds.
  expect(profileSentence({ decode: phase(1), runs: runs(1, 9) }, 10e9)).toMatch(
    /^A typical token spends 90 % of its time between steps, in JavaScript, and 6 % in its largest operation, linear\. /,
  );
  expect(profileSentence({ decode: phase(4), runs: runs(4, 1) }, 10e9)).toMatch(
    /^A typical token spends 64 % of its time in sampling and in starting and ending the step, and 12 % in /,
  );
});

test("what is faster than memory is read from the cache", () => {
  expect(profileSentence({ decode: phase(0.2), runs: runs(0.2, 0) }, 10e9)).toMatch(/cache, faster/);
  expect(profileSentence({ decode: phase(0, []), runs: [] }, 10e9)).toBe("Nothing was recorded.");
});
