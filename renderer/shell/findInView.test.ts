// Where words stand in a text; what is done with a page, e2e/days.spec.ts sees.
import { expect, it } from "vitest";
import { placesOf } from "./findInView.ts";

it("finds every place, without regard to case, and none twice", () => {
  expect(placesOf("Tokens, tokens and TOKENS", "token")).toEqual([0, 8, 19]);
  expect(placesOf("aaaa", "aa")).toEqual([0, 2]);
  expect(placesOf("anything", "")).toEqual([]);
  // In lower case İ has two letters: the place is that of the text as it stands.
  expect(placesOf("İ t/s", "t/s")).toEqual([2]);
});
