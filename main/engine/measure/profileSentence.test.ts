import { expect, test } from "vitest";
import type { ProfilePhase } from "../../runtime/profile.ts";
import { profileSentence } from "../handlers/measureHandlers.ts";

const row = (op: string, share: number) => ({ op, share, seconds: share, count: 1, bytes: 2.5e9, bandwidth: 1 });
const phase = (seconds: number, rows = [row("linear", 0.75), row("attention", 0.25)]): ProfilePhase => ({
  ...{ seconds, rows, tokens: 1, basis: "" },
});

test("the sentence names the first row of the table, and what the token's bytes say of memory", () => {
  expect(profileSentence(phase(1), 10e9)).toBe(
    "A typical token spends 75 % of its time in linear, and reads memory at 50 % of what this machine can.",
  );
});

test("what is faster than memory is read from the cache", () => {
  expect(profileSentence(phase(0.2), 10e9)).toMatch(/cache, faster/);
  expect(profileSentence(phase(0, []), 10e9)).toBe("Nothing was recorded.");
});
