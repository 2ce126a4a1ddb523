/**
 * Windows over images, as convolutions and pools have them. An image is [batch, channels, ...sizes]
 * with one to three sizes. Along an axis window i begins at i · stride − padding and has `kernel`
 * taps that are `dilation` apart.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { addDims, dimTerms, divDims, mulDims, subDims } from "../../ir/dim.ts";
import { sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType } from "../../ir/type.ts";
import { at } from "./host.ts";

/** One number per axis. */
export interface WindowAttrs {
  readonly strides: readonly number[];
  /** Zeros (or what is neutral) before and after the axis. */
  readonly padding: readonly number[];
  readonly dilations: readonly number[];
}
export const WINDOW_ATTRS = { strides: attr.ints(), padding: attr.ints(), dilations: attr.ints() };

/** The sizes of an image; an error for what is none. */
export function imageSizes(op: string, image: TensorType): Shape {
  const sizes = image.shape.slice(2);
  if (sizes.length < 1 || sizes.length > 3)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] image: got ${formatType(image)}, expected [batch, channels, width], [.., height, width] or [.., depth, height, width]`,
    );
  return sizes;
}

const MOST = 2 ** 31 - 1;

/** Every list has one whole number per axis, in its range. */
export function checkPerAxis(
  op: string,
  axes: number,
  lists: Readonly<Record<string, readonly number[]>>,
  least: Readonly<Record<string, number>>,
): void {
  for (const [name, list] of Object.entries(lists)) {
    const low = least[name] ?? 0;
    if (list.length !== axes || list.some((value) => value < low || value > MOST))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] ${name}: got [${list.join(", ")}], expected ${axes} whole numbers from ${low}`,
      );
  }
}

export function checkWindows(op: string, axes: number, { strides, padding, dilations }: WindowAttrs): void {
  checkPerAxis(op, axes, { strides, padding, dilations }, { strides: 1, dilations: 1 });
}

/** ⌊a / b⌋ where it is a polynomial: every term but the constant must divide by b. */
function floorDim(a: Dim, b: number): Dim | undefined {
  const constant = dimTerms(a).find((term) => term.symbols.length === 0)?.coefficient ?? 0;
  const rest = divDims(subDims(a, constant), b);
  return rest === undefined ? undefined : addDims(rest, Math.floor(constant / b));
}

/** Windows along each axis: ⌊(size + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1. */
export function windowCounts(
  op: string,
  sizes: Shape,
  kernel: Shape,
  { strides, padding, dilations }: WindowAttrs,
): Shape {
  return sizes.map((size, axis) => {
    const width = addDims(mulDims(at(dilations, axis), addDims(kernel[axis] ?? 1, -1)), 1);
    const room = subDims(addDims(size, 2 * at(padding, axis)), width);
    if (typeof room === "number" && room < 0)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] window of axis ${axis}: got ${width} positions, expected at most the padded size ${room + Number(width)}`,
      );
    const steps = floorDim(room, at(strides, axis));
    if (steps === undefined)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] the stride ${at(strides, axis)} does not divide the symbolic size ${size} of axis ${axis}`,
        { hint: "Specialise the graph first, or let the size be a multiple of the stride." },
      );
    return addDims(steps, 1);
  });
}

/**
 * The sizes that so many windows reach over, without the padding: (count − 1) stride − 2 padding +
 * dilation (kernel − 1) + 1.
 */
export function reachedSizes(counts: Shape, kernel: Shape, { strides, padding, dilations }: WindowAttrs): Shape {
  return counts.map((count, axis) => {
    const steps = mulDims(addDims(count, -1), at(strides, axis));
    const width = mulDims(at(dilations, axis), addDims(kernel[axis] ?? 1, -1));
    return addDims(addDims(steps, width), 1 - 2 * at(padding, axis));
  });
}

/** How many more positions `sizes` have than `reached`: numbers, also between symbolic sizes. */
export function leftOver(op: string, sizes: Shape, reached: Shape): readonly number[] {
  return sizes.map((size, axis) => {
    const rest = subDims(size, reached[axis] ?? 0);
    if (typeof rest === "number") return rest;
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] size of axis ${axis}: got ${size}, windows reach ${reached[axis] ?? 0}`,
      {
        hint: "Specialise the graph first.",
      },
    );
  });
}

/** The place of the image under every tap of every window (windows first, both row-major), −1 in the padding. */
export function tapTable(
  sizes: readonly number[],
  kernel: readonly number[],
  counts: readonly number[],
  { strides, padding, dilations }: WindowAttrs,
): Int32Array {
  const [windows, taps] = [sizeOf(counts), sizeOf(kernel)];
  const table = new Int32Array(windows * taps);
  for (let i = 0; i < table.length; i++) {
    let [window, tap, place, scale] = [Math.floor(i / taps), i % taps, 0, 1];
    for (let d = sizes.length - 1; d >= 0; d--) {
      const position =
        (window % at(counts, d)) * at(strides, d) + (tap % at(kernel, d)) * at(dilations, d) - at(padding, d);
      place = place < 0 || position < 0 || position >= at(sizes, d) ? -1 : place + position * scale;
      scale *= at(sizes, d);
      window = Math.floor(window / at(counts, d));
      tap = Math.floor(tap / at(kernel, d));
    }
    table[i] = place;
  }
  return table;
}
