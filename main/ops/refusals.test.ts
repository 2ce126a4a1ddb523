/** Attributes that no device could follow are refused where a graph is read, by the name of the op that was written. */
import { describe, expect, it } from "vitest";
import { parseGraph } from "../ir/text/build.ts";
import { opTable } from "./index.ts";

const REFUSED: readonly (readonly [type: string, call: string, says: string])[] = [
  [
    "i8[3]",
    "clamp(%x) {low: 128}",
    "[clamp] low and high: got 128 and none, expected one of them at least, in order, of i8",
  ],
  ["u8[3]", "clamp(%x) {high: -1}", "[clamp] low and high: got none and -1"],
  [
    "i8[3]",
    'pad(%x) {before: [1], after: [0], mode: "constant", value: 300}',
    "[pad] value: got 300, expected one of i8",
  ],
  [
    "bool[3]",
    'pad(%x) {before: [1], after: [0], mode: "constant", value: 2}',
    "[pad] value: got 2, expected one of bool",
  ],
  [
    "f32[1,3,5,0]",
    'pool(%x) {kind: "mean", kernel: [3, 2], strides: [1, 2], padding: [1, 1]}',
    "[pool] image: got f32[1,3,5,0], expected a place at least on each axis",
  ],
  [
    "f32[1,1,3]",
    'interpolate(%x) {mode: "linear", positions: "half_pixel", sizes: [100000000]}',
    "[interpolate] sizes: got 100000000, expected at most 16777216",
  ],
];

describe("an attribute that fits no device", () => {
  it.each(REFUSED)("%s: %s", (type, call, says) => {
    const text = `graph "g" {\n %x = input : ${type}\n %y = ${call}\n return "y" = %y\n}\n`;
    expect(() => parseGraph(opTable, text, { name: "g.rlx" })).toThrow(says);
  });
});
