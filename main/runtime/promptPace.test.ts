import { expect, it } from "vitest";
import { PromptPace } from "./promptPace.ts";

it("runs a prompt in the largest parts alone, and in parts of a tenth of a second beside answers", () => {
  const pace = new PromptPace(512);
  expect(pace.chunk).toBe(512);
  const end = pace.generates();
  expect(pace.chunk).toBe(64);
  pace.took(512, 5.12);
  // 10 ms a token: fewer than the least.
  expect(pace.chunk).toBe(16);
  pace.took(64, 0.064);
  // Mean of 10 and 1 ms a token: 18 of them in 0.1 s.
  expect(pace.chunk).toBe(18);
  pace.took(4, 4);
  expect(pace.chunk).toBe(18);
  const other = pace.generates();
  end();
  end();
  expect(pace.chunk).toBe(18);
  other();
  expect(pace.chunk).toBe(512);
});

it("never runs more than the plan takes", () => {
  const pace = new PromptPace(8);
  pace.generates();
  expect(pace.chunk).toBe(8);
});
