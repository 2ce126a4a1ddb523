import { expect, it } from "vitest";
import { packArrays, unpackArrays } from "./packArrays.ts";

it("typed arrays come back from JSON as they were, wherever they stand", () => {
  const value = {
    a: Float64Array.of(0.1, -Infinity, NaN),
    b: [{ c: Uint8Array.of(1, 2, 255), d: "text", e: null }],
    f: Uint32Array.of(4_294_967_295).subarray(0, 1),
    g: new Float32Array(20_000).fill(0.5),
  };
  expect(unpackArrays(JSON.parse(JSON.stringify(packArrays(value))))).toEqual(value);
});

it("an array of a damaged length is none", () => {
  expect(unpackArrays({ $array: "f64", data: btoa("abc") })).toBeNull();
  expect(unpackArrays({ $array: "of another kind", data: "" })).toEqual({ $array: "of another kind", data: "" });
});
