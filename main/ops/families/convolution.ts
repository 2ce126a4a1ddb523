/**
 * What `conv` and `conv_transpose` share. Both know two images: the large one (the operand of conv,
 * the result of its transpose) and the small one, which has one place per window. weight[small
 * channel, large channel of the group, taps] says how much of a large place a small place sees; the
 * transpose carries it back.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { divDims, mulDims } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { VmapContext } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { shapeOf } from "./batching.ts";
import { at } from "./host.ts";
import type { WindowAttrs } from "./windows.ts";
import { WINDOW_ATTRS, checkWindows, imageSizes, tapTable } from "./windows.ts";

export interface ConvAttrs extends WindowAttrs {
  /** Channels are cut into this many groups, which do not see each other. */
  readonly groups: number;
}
export const CONV_ATTRS = { ...WINDOW_ATTRS, groups: attr.int(1) };

/** Parameters for both engines; anything else follows from the shape of the result. */
export const engineGeometry = ({ strides, padding, dilations, groups }: ConvAttrs) => ({
  strides,
  padding,
  dilations,
  groups,
});

/** Checks an image and a weight; gives the taps of the kernel. The channels are for the op to compare. */
export function checkConvolution(op: string, x: TensorType, w: TensorType, attrs: ConvAttrs): Shape {
  const [image, weight] = [plainDType(x.dtype, op), plainDType(w.dtype, op)];
  if (!isFloat(image) || !isFloat(weight))
    throw new WorkbenchError("IR_TYPE", `[${op}] operands: got ${image} and ${weight}, expected floats`, {
      hint: "Insert a cast.",
    });
  const axes = imageSizes(op, x).length;
  if (w.shape.length !== axes + 2)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] weight: got ${formatType(w)}, expected ${axes + 2} axes as ${formatType(x)} has`,
    );
  checkWindows(op, axes, attrs);
  const kernel = w.shape.slice(2);
  if (kernel.includes(0)) throw new WorkbenchError("IR_SHAPE", `[${op}] weight: got ${formatType(w)}, expected taps`);
  return kernel;
}

/** Channels of one group, or an error. */
export function perGroup(op: string, what: string, channels: Dim, groups: number): Dim {
  const each = divDims(channels, groups);
  if (each === undefined)
    throw new WorkbenchError("IR_SHAPE", `[${op}] ${what}: got ${channels}, expected a multiple of ${groups} groups`);
  return each;
}

interface Images {
  readonly large: readonly number[];
  readonly small: readonly number[];
  readonly weight: HostTensor;
  readonly attrs: ConvAttrs;
}

/** Calls `meet(large, small, weight)` with the places of each product in a convolution or its transpose. */
export function forEachProduct(
  { large, small, weight, attrs }: Images,
  meet: (large: number, small: number, weight: number) => void,
): void {
  const [kernel, sizes, counts] = [weight.shape.slice(2), large.slice(2), small.slice(2)];
  const table = tapTable(sizes, kernel, counts, attrs);
  const [plane, windows, taps] = [sizeOf(sizes), sizeOf(counts), sizeOf(kernel)];
  const [inGroup, own] = [at(weight.shape, 1), at(small, 1) / attrs.groups];
  for (let item = 0; item < at(large, 0); item++)
    for (let s = 0; s < at(small, 1); s++)
      for (let c = 0; c < inGroup; c++) {
        const l = Math.floor(s / own) * inGroup + c;
        const [image, result] = [(item * at(large, 1) + l) * plane, (item * at(small, 1) + s) * windows];
        for (let i = 0; i < table.length; i++)
          if (at(table, i) >= 0)
            meet(image + at(table, i), result + Math.floor(i / taps), (s * inGroup + c) * taps + (i % taps));
      }
}

const reshaped = (g: OpBuilder, x: Value, shape: Shape): Value =>
  sameShape(shapeOf(g, x), shape) ? x : g.reshape([x], { shape });
/** The first axes in a new order; those behind stay. */
const frontFirst = (g: OpBuilder, x: Value, order: readonly number[]): Value =>
  g.transpose([x], { perm: shapeOf(g, x).map((_, axis) => order[axis] ?? axis) });

/**
 * The cotangent of the weight: Σ over batch and windows of large · small. That is a convolution
 * too, with channels as batch, batch as channels, the small image as the kernel, and strides and
 * dilations in each other's place.
 */
export function weightCotangent(g: OpBuilder, large: Value, small: Value, weight: Value, attrs: ConvAttrs): Value {
  const { strides, padding, dilations, groups } = attrs;
  const [batch = 1, channels = 1, ...sizes] = shapeOf(g, large);
  const { dtype, shape } = g.typeOf(weight);
  const inGroup = divDims(channels, groups) ?? 1;
  const grouped = frontFirst(g, reshaped(g, large, [batch, groups, inGroup, ...sizes]), [2, 1, 0]);
  const image = reshaped(g, grouped, [inGroup, mulDims(groups, batch), ...sizes]);
  const kernel = frontFirst(g, small, [1, 0]);
  let sums = g.conv([image, kernel], { strides: dilations, padding, dilations: strides, groups });
  // The strides may leave room for further windows behind the last tap: cut them off.
  for (let axis = 2; axis < shape.length; axis++)
    if (shapeOf(g, sums)[axis] !== shape[axis]) sums = g.narrow([sums], { axis, start: 0, length: shape[axis] ?? 1 });
  const result = frontFirst(g, sums, [1, 0]);
  return g.typeOf(result).dtype === dtype ? result : g.cast([result], { to: plainDType(dtype, "weight") });
}

/** The axis of the weight that holds channels of the result: a batch of weights adds channels there. */
export type ResultAxis = 0 | 1;

/**
 * Batches as more items or more channels: items where only images differ; channels of the result
 * where only weights differ; groups where both do.
 */
export function batchConvolution<A extends ConvAttrs>(
  { g, inputs: [x, w], batched, size, attrs }: VmapContext<A, 2>,
  resultAxis: ResultAxis,
  apply: (x: Value, w: Value, attrs: A) => Value,
): Value {
  const { groups } = attrs;
  if (batched[1] !== true) {
    const [, items = 1, ...rest] = shapeOf(g, x);
    const y = apply(g.reshape([x], { shape: [mulDims(size, items), ...rest] }), w, attrs);
    return g.reshape([y], { shape: [size, items, ...shapeOf(g, y).slice(1)] });
  }
  const [, first = 1, second = 1, ...taps] = shapeOf(g, w);
  if (batched[0] === true) {
    // [B, N, C, …] → [N, B·C, …]: each item of the batch is a set of groups of its own.
    const [, items = 1, channels = 1, ...sizes] = shapeOf(g, x);
    const image = g.reshape([frontFirst(g, x, [1, 0])], { shape: [items, mulDims(size, channels), ...sizes] });
    const weight = g.reshape([w], { shape: [mulDims(size, first), second, ...taps] });
    if (typeof size !== "number")
      throw new WorkbenchError(
        "UNSUPPORTED_OP",
        `[conv] batch of images and weights: got size ${size}, expected a number`,
        {
          hint: "Specialise the graph first.",
        },
      );
    return unpackBatch(g, apply(image, weight, { ...attrs, groups: groups * size }), 1, size, items);
  }
  const [items = 1] = shapeOf(g, x);
  if (resultAxis === 1) {
    // [B, C, F, …] → [C, B·F, …]
    const weight = g.reshape([frontFirst(g, w, [1, 0])], { shape: [first, mulDims(size, second), ...taps] });
    return unpackBatch(g, apply(x, weight, attrs), groups, size, items);
  }
  // [B, groups·F, C, …] → [groups·B·F, C, …]
  const own = divDims(first, groups) ?? 1;
  const grouped = frontFirst(g, g.reshape([w], { shape: [size, groups, own, second, ...taps] }), [1, 0]);
  const weight = g.reshape([grouped], { shape: [mulDims(size, first), second, ...taps] });
  return unpackBatch(g, apply(x, weight, attrs), groups, size, items);
}

/** [N, groups · B · F, …] → [B, N, groups · F, …] */
function unpackBatch(g: OpBuilder, y: Value, groups: number, size: Dim, items: Dim): Value {
  const [, channels = 1, ...sizes] = shapeOf(g, y);
  const each = divDims(channels, mulDims(groups, size)) ?? 1;
  const apart = g.reshape([y], { shape: [items, groups, size, each, ...sizes] });
  const front = frontFirst(g, apart, [2, 0, 1]);
  return g.reshape([front], { shape: [size, items, mulDims(groups, each), ...sizes] });
}

/** For the oracle: how JAX names the axes of images and weights of one to three dimensions. */
export const LAYOUT_LETTERS =
  'letters = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}[x0.ndim]';
