import { expect, it } from "vitest";
import { shade } from "./shade.ts";

it("is none for the least alike and the strongest for the same text", () => {
  expect([shade(0.9, 0.9), shade(0.95, 0.9), shade(1, 0.9)]).toEqual([0, 25, 50]);
});

it("stays within its bounds for one text alone and for what rounding leaves", () => {
  expect([shade(1, 1), shade(1.0000001, 0), shade(-0.1, 0)]).toEqual([50, 50, 0]);
});
