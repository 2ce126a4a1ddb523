import { expect, it } from "vitest";
import { arrowTarget } from "./arrowFocus.ts";

it("walks up and down, to the ends, and stays within them", () => {
  expect(["ArrowDown", "ArrowUp", "Home", "End"].map((key) => arrowTarget(key, 1, 4))).toEqual([2, 0, 0, 3]);
  expect([arrowTarget("ArrowDown", 3, 4), arrowTarget("ArrowUp", 0, 4)]).toEqual([3, 0]);
});

it("leaves other keys to others", () => {
  expect(["Enter", " ", "Tab", "ArrowRight"].map((key) => arrowTarget(key, 1, 4))).toEqual([null, null, null, null]);
});
