import { expect, test } from "vitest";
import type { ProfileReport } from "../../runtime/profile.ts";
import { profileSentence } from "./measureHandlers.ts";

/** Runs of two instructions each: seconds of `linear` and of `attention`, and the bytes that both read. */
function reportOf(runs: readonly { readonly decode: boolean; readonly linear: number; readonly attention: number }[]) {
  const rows = { rows: [], seconds: 0 };
  return {
    titles: [{ op: "linear" }, { op: "attention" }],
    runs: runs.map(({ decode, linear, attention }) => ({ start: 0, seconds: linear + attention, tokens: 1, decode })),
    slices: {
      run: Uint32Array.from(runs.flatMap((_, run) => [run, run])),
      instruction: Uint32Array.from(runs.flatMap(() => [0, 1])),
      seconds: Float32Array.from(runs.flatMap(({ linear, attention }) => [linear, attention])),
      bytes: Float64Array.from(runs.flatMap(() => [4e9, 1e9])),
    },
    prefill: rows,
    decode: rows,
  } as unknown as ProfileReport;
}

test("the sentence is of a typical token, not of the one that was held up", () => {
  const usual = { decode: true, linear: 0.75, attention: 0.25 };
  const heldUp = { decode: true, linear: 0.75, attention: 90 };
  const prompt = { decode: false, linear: 1, attention: 100 };
  expect(profileSentence(reportOf([prompt, usual, heldUp, usual]), 10e9)).toBe(
    "A typical token spends 75 % of its time in linear, and reads memory at 50 % of what this machine can.",
  );
});

test("nor of an op in which the token of median time happened to be held up", () => {
  const usual = { decode: true, linear: 0.6, attention: 0.3 };
  const heldUp = { decode: true, linear: 0.6, attention: 0.7 };
  const slow = { decode: true, linear: 1.6, attention: 0.3 };
  expect(profileSentence(reportOf([usual, heldUp, slow]), 10e9)).toMatch(
    /^A typical token spends 67 % of its time in linear,/,
  );
});

test("what is faster than memory is read from the cache", () => {
  expect(profileSentence(reportOf([{ decode: true, linear: 0.1, attention: 0.1 }]), 10e9)).toMatch(/cache, faster/);
  expect(profileSentence(reportOf([]), 10e9)).toBe("Nothing was recorded.");
});
