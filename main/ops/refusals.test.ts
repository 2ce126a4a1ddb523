/** What ops refuse in their own check, so that no run fails with the fault of an op that was not written. */
import { expect, it } from "vitest";
import { parseGraph } from "../ir/text/build.ts";
import { opTable } from "./index.ts";

it.each([
  [
    "clamp from above what the type has",
    "%x = input : i8[3]\n%y = clamp(%x) {low: 128}",
    "[clamp] low and high: got 128 and none, expected one of them at least, in order, of i8",
  ],
  ["clamp to below it", "%x = input : u8[3]\n%y = clamp(%x) {high: -1}", "[clamp] low and high: got none and -1"],
  [
    "a border that the type has not",
    '%x = input : i8[3]\n%y = pad(%x) {before: [1], after: [0], mode: "constant", value: 300}',
    "[pad] value: got 300, expected one of i8",
  ],
  [
    "a border that is no truth value",
    '%x = input : bool[3]\n%y = pad(%x) {before: [1], after: [0], mode: "constant", value: 2}',
    "[pad] value: got 2, expected one of bool",
  ],
  [
    "a pool over an axis without places",
    '%x = input : f32[1,3,5,0]\n%y = pool(%x) {kind: "mean", kernel: [3, 2], strides: [1, 2], padding: [1, 1]}',
    "[pool] image: got f32[1,3,5,0], expected a place at least on each axis",
  ],
  [
    "an image that no memory holds the places of",
    '%x = input : f32[1,1,3]\n%y = interpolate(%x) {mode: "linear", positions: "half_pixel", sizes: [100000000]}',
    "[interpolate] sizes: got 100000000, expected at most 16777216",
  ],
  [
    "scatter_add of a scalar index beyond the updates' axes",
    "%u = input : f32[7,3]\n%i = input : i32[]\n%y = scatter_add(%u, %i) {axis: 7, size: 4}",
    "[scatter_add] updates f32[7,3] do not hold the axes of i32[] at axis 7",
  ],
  [
    "swiglu_clamped with a limit below 0",
    "%g = input : f32[3]\n%y = swiglu_clamped(%g, %g) {limit: -0.5, alpha: 1, shift: 1}",
    "[swiglu_clamped] limit: got -0.5, expected a number from 0",
  ],
  [
    "a mean of whole numbers",
    '%x = input : i32[3]\n%y = reduce(%x) {kind: "mean", axes: [0]}',
    "[reduce] mean takes floats, got i32",
  ],
  [
    "peaks of an empty spectrum",
    "%x = input : f32[2,0]\n%y = welch_peaks(%x) {k: 1, segments: 2}",
    "[welch_peaks] got f32[2,0], 2 segments, k 1; expected [batch · segments, 2N] with N from 1 and k of at most 1",
  ],
  [
    "mels of an empty spectrum",
    '%x = input : f32[2,0]\n%f = input : f32[3,1]\n%y = log_mel(%x, %f) {loudest: "frame"}',
    "[log_mel] got f32[2,0] and f32[3,1], expected a spectrum [.., 2N] with N from 1 and filters [mels, 1]",
  ],
])("%s", (_, body, message) => {
  expect(() => parseGraph(opTable, `graph "g" {\n${body}\nreturn "y" = %y\n}`)).toThrow(message);
});
