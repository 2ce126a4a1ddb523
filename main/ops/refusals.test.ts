// What ops refuse in their own check, so that no run fails with the fault of an op that nobody wrote.
import { expect, it } from "vitest";
import { parseGraph } from "../ir/text/build.ts";
import { opTable } from "./index.ts";

it.each([
  [
    "scatter_add of a scalar index beyond the updates' axes",
    "%u = input : f32[7,3]\n%i = input : i32[]\n%y = scatter_add(%u, %i) {axis: 7, size: 4}",
    "[scatter_add] updates f32[7,3] do not hold the axes of i32[] at axis 7",
  ],
])("%s", (_, body, message) => {
  expect(() => parseGraph(opTable, `graph "g" {\n${body}\nreturn "y" = %y\n}`)).toThrow(message);
});
