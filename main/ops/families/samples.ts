/** Short spellings for sample inputs. */
import type { DType, ElementType } from "../../ir/dtype.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { tensor } from "../../ir/type.ts";
import type { Sample, SampleInput } from "../defineOp.ts";

export const normal = (seed: number, shape: Shape, scale = 1, offset = 0): SampleInput => ({
  type: tensor("f32", shape),
  fill: { kind: "normal", seed, scale, offset },
});
/** One operand per shape, with seeds from `seed` on. */
export const normals = (seed: number, ...shapes: readonly Shape[]): readonly SampleInput[] =>
  shapes.map((shape, i) => normal(seed + i, shape));
export const uniform = (seed: number, shape: Shape, low: number, high: number): SampleInput => ({
  type: tensor("f32", shape),
  fill: { kind: "uniform", seed, low, high },
});
/** Whole numbers low..high, both included. */
export const integers = (seed: number, shape: Shape, low: number, high: number, dtype: DType = "i32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "integers", seed, low, high },
});
export const values = (data: readonly number[], shape: Shape = [data.length], dtype: DType = "f32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "values", data },
});
/** A weight of any element type; the data of a packed one is what its blocks stand for. */
export const weight = (seed: number, shape: Shape, dtype: ElementType = "f32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "normal", seed, scale: 0.5 },
});
export const scalarInput = (value: number, dtype: DType = "i32"): SampleInput => values([value], [], dtype);

/** One sample. `more` holds what only some need: sizes of symbols, sub-graphs, no derivative. */
export const sample = <Attrs>(
  title: string,
  inputs: readonly SampleInput[],
  attrs: NoInfer<Attrs>,
  more: Omit<Sample<NoInfer<Attrs>>, "title" | "inputs" | "attrs"> = {},
): Sample<Attrs> => ({ title, inputs, attrs, ...more });

const PAIRS: { readonly [D in DType]?: readonly [a: readonly number[], b: readonly number[]] } = {
  i8: [
    [100, -128, 127, -100, 5],
    [127, -1, 2, 7, -3],
  ],
  u8: [
    [200, 3, 255, 16, 9],
    [100, 5, 255, 16, 1],
  ],
  i16: [
    [32767, -32768, 300, -7, 12],
    [1, -1, 300, 3, 5],
  ],
  u32: [
    [4294967295, 3, 65536, 7, 4294967295],
    [4294967293, 5, 65536, 7, 1],
  ],
  i32: [
    [2147483647, -2147483648, 123456789, -7, 65536],
    [2147483647, -1, 987654321, 3, 65536],
  ],
  i64: [
    [2 ** 62, -(2 ** 63), 2 ** 32 + 1, -7, 3],
    [2 ** 62, 2 ** 62, 2 ** 32 + 1, 3, 5],
  ],
};

/** Two operands per whole dtype. Their sums, differences and products overflow and wrap (main/ir/wholeNumbers.ts). */
export const wrappingPairs: readonly Sample<NoAttrs>[] = Object.entries(PAIRS).map(([dtype, [a, b]]) =>
  sample(
    `whole numbers that wrap, ${dtype}`,
    [values(a, [a.length], dtype as DType), values(b, [b.length], dtype as DType)],
    {},
  ),
);

/** The first operands of `wrappingPairs`. */
export const wrappingNumbers: readonly Sample<NoAttrs>[] = wrappingPairs.map((sample) => ({
  ...sample,
  inputs: sample.inputs.slice(0, 1),
}));

/** The samples, and the first once more in float64: backends without float64 must refuse it. */
export const withDoubles = <Attrs>(samples: readonly [Sample<Attrs>, ...Sample<Attrs>[]]): readonly Sample<Attrs>[] => {
  const [first] = samples;
  const inputs = first.inputs.map(({ type, fill }): SampleInput => ({
    fill,
    type: tensor(isFloat(type.dtype) ? "f64" : type.dtype, type.shape),
  }));
  return [...samples, { ...first, title: `${first.title}, float64`, inputs }];
};
