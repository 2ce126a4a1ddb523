/** How convolutions and pools become MIL: what the entries of their ops call. */
import { invariant } from "../../diagnostics/errors.ts";
import { sizeOf } from "../../ir/hostTensor.ts";
import type { CoremlEmitter, MilValue } from "./emitter.ts";
import { milPlain } from "./rules.ts";

export interface ConvolutionAttrs {
  readonly strides: readonly number[];
  readonly padding: readonly number[];
  readonly dilations: readonly number[];
  readonly groups: number;
}

function at(sizes: readonly number[], axis: number): number {
  const size = sizes[axis];
  invariant(size !== undefined, `[coreml] no axis ${axis} among ${sizes.length}`);
  return size;
}

/** Before and after each axis. */
const bothEnds = (padding: readonly number[]): readonly number[] => padding.flatMap((size) => [size, size]);

const zerosAfter = (e: CoremlEmitter, x: MilValue, counts: readonly number[]): MilValue =>
  e.op("pad", { x, pad: counts.flatMap((count) => [0, count]), mode: "constant", constant_val: 0 });

/** A kernel with the zeros that a dilation means written out: Core ML dilates constant kernels only. */
function dilated(e: CoremlEmitter, w: MilValue, dilations: readonly number[]): MilValue {
  const [first = 1, second = 1, ...taps] = e.sizes(w, "conv");
  const apart = e.op("reshape", { x: w, shape: [first * second, ...taps.flatMap((size) => [size, 1])] });
  const padded = zerosAfter(e, apart, [0, ...dilations.flatMap((dilation) => [0, dilation - 1])]);
  const wide = taps.map((size, axis) => size * at(dilations, axis));
  const joined = e.op("reshape", { x: padded, shape: [first, second, ...wide] });
  const size = [first, second, ...taps.map((count, axis) => (count - 1) * at(dilations, axis) + 1)];
  return e.op("slice_by_size", { x: joined, begin: size.map(() => 0), size });
}

/** The weight, and the dilations that are left for the operator. */
function kernelOf(e: CoremlEmitter, w: MilValue, dilations: readonly number[]): readonly [MilValue, readonly number[]] {
  const weight = milPlain(e, w);
  if (weight.constness !== "no" || dilations.every((dilation) => dilation === 1)) return [weight, dilations];
  return [dilated(e, weight, dilations), dilations.map(() => 1)];
}

export function milConvolution(e: CoremlEmitter, x: MilValue, w: MilValue, attrs: ConvolutionAttrs): MilValue {
  const [weight, dilations] = kernelOf(e, w, attrs.dilations);
  const { strides, padding, groups } = attrs;
  return e.op("conv", { x, weight, strides, pad_type: "custom", pad: bothEnds(padding), dilations, groups });
}

/** The output padding takes back what the padding cuts off at the end; what it asks for beyond that is zeros. */
export function milTransposedConvolution(
  e: CoremlEmitter,
  x: MilValue,
  w: MilValue,
  attrs: ConvolutionAttrs & { readonly outputPadding: readonly number[] },
): MilValue {
  const [weight, dilations] = kernelOf(e, w, attrs.dilations);
  const { strides, padding, groups, outputPadding } = attrs;
  const ends = padding.map((size, axis) => Math.max(0, size - at(outputPadding, axis)));
  const [batch = 1, , ...sizes] = e.sizes(x, "conv_transpose");
  const [, filters = 1, ...taps] = e.sizes(weight, "conv_transpose");
  const reached = sizes.map(
    (size, d) => (size - 1) * at(strides, d) + (at(taps, d) - 1) * at(dilations, d) + 1 - at(padding, d) - at(ends, d),
  );
  const y = e.op("conv_transpose", {
    x,
    weight,
    pad: padding.flatMap((size, axis) => [size, at(ends, axis)]),
    output_shape: [batch, filters * groups, ...reached],
    pad_type: "custom",
    strides,
    dilations,
    groups,
  });
  const missing = outputPadding.map((size, axis) => size - at(padding, axis) + at(ends, axis));
  return missing.every((size) => size === 0) ? y : zerosAfter(e, y, [0, 0, ...missing]);
}

export interface PoolAttrs {
  readonly kind: PoolKind;
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly padding: readonly number[];
}
export type PoolKind = "max" | "mean" | "sum" | "min" | "prod";

/** Sums are means times the window, smallest are largest of the negatives. */
export function milPool(e: CoremlEmitter, x: MilValue, { kind, kernel, strides, padding }: PoolAttrs): MilValue {
  const window = { kernel_sizes: kernel, strides, pad_type: "custom", pad: bothEnds(padding), ceil_mode: false };
  if (kind === "max") return e.op("max_pool", { x, ...window });
  if (kind === "min") {
    const largest = e.op("max_pool", { x: e.op("mul", { x, y: -1 }), ...window });
    return e.op("mul", { x: largest, y: -1 });
  }
  const mean = e.op("avg_pool", { x, ...window, exclude_padding_from_average: false });
  return kind === "mean" ? mean : e.op("mul", { x: mean, y: sizeOf(kernel) });
}
