// The comparison that all native tests use finds what it is for.
import { describe, expect, test } from "vitest";
import type { DType } from "../ir/dtype.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { expectClose } from "./nativeTensors.ts";

const compare = (dtype: DType, got: readonly number[], want: readonly number[], coarsest?: number) => (): void =>
  expectClose(hostTensor(dtype, [got.length], got), hostTensor(dtype, [want.length], want), "y", coarsest);

describe("the comparison with a reference", () => {
  test("takes what rounding explains, by the type and by what is allowed", () => {
    expect(compare("f32", [1, 1000.001], [1, 1000])).not.toThrow();
    expect(compare("f16", [1.001, NaN, -Infinity], [1, NaN, -Infinity])).not.toThrow();
    expect(compare("f32", [1.01, 100], [1, 100], 1e-3)).not.toThrow();
    expect(compare("i32", [1, -7], [1, -7])).not.toThrow();
  });
  test("names the first element that it does not explain", () => {
    expect(compare("f32", [1, 100.1], [1, 100])).toThrow("y element 1: got 100.1, expected 100");
    expect(compare("i32", [1, 8], [1, 7])).toThrow("y element 1: got 8, expected 7");
    expect(compare("f32", [NaN, 1], [1, 1])).toThrow("y element 0: got NaN, expected 1");
    expect(compare("f32", [1, 1], [Infinity, 1])).toThrow("y element 0");
    expect(compare("f32", [Infinity, 1], [1, 1])).toThrow("y element 0");
    expect(compare("f32", [1], [1, 2])).toThrow();
  });
});
