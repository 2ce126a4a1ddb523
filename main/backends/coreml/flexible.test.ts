// Merging sizes: what follows from the number of tokens is computed, and what does not is refused instead of guessed.
import { describe, expect, it } from "vitest";
import type { MergeOptions } from "./flexible.ts";
import { flexibleSizes, mergeSizes } from "./flexible.ts";
import type { LoweredFunction } from "./lowering/lower.ts";
import type { MilDim, MilNamed, MilOperation } from "./mil/types.ts";
import { tensorType } from "./mil/types.ts";

const SIZES = [61, 59, 53];
const whole = (name: string, shape: readonly MilDim[]): MilNamed => ({ name, type: tensorType("int32", shape) });
const numbers = (name: string, shape: readonly number[], values: readonly number[]): MilOperation => ({
  type: "const",
  name,
  inputs: [],
  outputs: [whole(name, shape)],
  value: { type: tensorType("int32", shape), data: { kind: "numbers", values } },
  origins: [],
});
const call = (type: string, output: MilNamed, inputs: Readonly<Record<string, string>>): MilOperation => ({
  type,
  name: output.name,
  inputs: Object.entries(inputs).map(([argument, name]) => [argument, [{ kind: "name", name } as const]] as const),
  outputs: [output],
  origins: [4],
});
const lowered = (size: number, operations: readonly MilOperation[]): LoweredFunction => ({
  mil: {
    name: "main",
    opset: "CoreML8",
    inputs: [whole("tokens", [size])],
    operations,
    outputs: ["y"],
  },
  bindings: [{ feature: "tokens", kind: "input", name: "tokens", dtype: "int32", shape: [size] }],
});
const options: MergeOptions = { input: "tokens", sizes: SIZES, stored: () => undefined };
const merged = (make: (size: number) => readonly MilOperation[]): ReturnType<typeof mergeSizes> =>
  mergeSizes(
    SIZES.map((size) => lowered(size, make(size))),
    options,
  );
const types = (made: ReturnType<typeof mergeSizes>): readonly string[] => made.mil.operations.map(({ type }) => type);
const constantOf = (made: ReturnType<typeof mergeSizes>, name: string): unknown =>
  made.mil.operations.find((op) => op.name === name)?.value?.data;

describe("sizes", () => {
  it("are primes below the context, the largest first", () => {
    expect(flexibleSizes(4096)).toEqual([61, 59, 53]);
    expect(flexibleSizes(59)).toEqual([53, 47, 43]);
    expect(() => flexibleSizes(6)).toThrow(/context of 6 tokens/);
  });
});

describe("merging", () => {
  it("leaves a reshape to find its own size, and gives the input its range", () => {
    const made = merged((size) => [
      numbers("shape", [2], [size, 4]),
      call("reshape", whole("y", [size, 4]), { x: "tokens", shape: "shape" }),
    ]);
    expect(types(made)).toEqual(["shape", "const", "reshape"]);
    expect(constantOf(made, "shape")).toEqual({ kind: "numbers", values: [-1, 4] });
    expect(made.mil.operations.at(-1)?.outputs[0]?.type.shape).toEqual([null, 4]);
    expect(made.flexible).toEqual({ tokens: { kind: "range", sizes: [[1, 61]] } });
    expect(made.bindings[0]).toMatchObject({ shape: [61], free: [0] });
  });

  it("computes whole numbers that grow in a line", () => {
    const made = merged((size) => [
      numbers("end", [2], [3 * size + 5, 7]),
      call("slice_by_size", whole("y", [1]), { x: "tokens", begin: "end", size: "end" }),
    ]);
    expect(types(made)).toEqual(["shape", "const", "mul", "const", "add", "slice_by_size"]);
    expect(constantOf(made, "end_slope")).toEqual({ kind: "numbers", values: [3, 0] });
    expect(constantOf(made, "end_start")).toEqual({ kind: "numbers", values: [5, 7] });
    expect(made.mil.operations.find(({ name }) => name === "end")?.type).toBe("add");
  });

  it("cuts a table to the size", () => {
    const table = (size: number): number[] => Array.from({ length: size }, (_, i) => 10 * i);
    const made = merged((size) => [
      numbers("places", [size], table(size)),
      call("add", whole("y", [size]), { x: "tokens", y: "places" }),
    ]);
    expect(constantOf(made, "places_whole")).toEqual({ kind: "numbers", values: table(61) });
    expect(made.mil.operations.find(({ name }) => name === "places")).toMatchObject({ type: "slice_by_size" });
  });

  it.each<[string, (size: number) => readonly MilOperation[], RegExp]>([
    [
      "a number that does not grow in a line",
      (size) => [numbers("c", [2], [size * size, size]), call("add", whole("y", [2]), { x: "c", y: "c" })],
      /the constant c does not follow/,
    ],
    [
      "a table whose beginning changes",
      (size) => [
        numbers(
          "c",
          [size],
          Array.from({ length: size }, (_, i) => size - i),
        ),
        call("add", whole("y", [size]), { x: "tokens", y: "c" }),
      ],
      /the table c does not follow/,
    ],
    [
      "another operator for another size",
      (size) => [call(size === 53 ? "mul" : "add", whole("y", [size]), { x: "tokens", y: "tokens" })],
      /operator y does not follow/,
    ],
    [
      "more operators for another size",
      (size) => [
        call("add", whole("y", [size]), { x: "tokens", y: "tokens" }),
        ...(size === 53 ? [call("add", whole("z", [size]), { x: "y", y: "y" })] : []),
      ],
      /the number of operators does not follow/,
    ],
    [
      "a number where Core ML wants a constant",
      (size) => [numbers("c", [1], [size]), call("concat", whole("y", [size]), { values: "tokens", axis: "c" })],
      /axis of concat does not follow/,
    ],
  ])("refuses %s", (_, make, sentence) => {
    expect(() => merged(make)).toThrow(sentence);
    expect(() => merged(make)).toThrow(expect.objectContaining({ code: "UNSUPPORTED_TARGET" }));
  });
});
