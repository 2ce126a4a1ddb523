/**
 * Initial values: what a parameter in memory or a variable holds before it is set. Attributes of
 * the leaf describe them and a seed makes them, so that they are the same everywhere.
 */
import type { AttrRecord } from "./attributes.ts";
import type { HostTensor } from "./hostTensor.ts";
import { hostTensor, sizeOf } from "./hostTensor.ts";
import { isPacked } from "./dtype.ts";
import { invariant } from "../diagnostics/errors.ts";

export type Initial =
  | { readonly kind: "constant"; readonly value: number }
  /** Normal numbers of this deviation, or uniform ones between -scale and scale. */
  | { readonly kind: "normal" | "uniform"; readonly scale: number; readonly seed: number };

export const initialAttrs = (initial: Initial | undefined): AttrRecord => {
  if (initial === undefined) return {};
  return initial.kind === "constant"
    ? { initial: initial.kind, value: initial.value }
    : { initial: initial.kind, scale: initial.scale, seed: initial.seed };
};

/** Undefined where the leaf has none, or one that is not whole. */
export function initialOf({ initial, value, scale, seed }: AttrRecord): Initial | undefined {
  if (initial === "constant") return typeof value === "number" ? { kind: initial, value } : undefined;
  if (initial !== "normal" && initial !== "uniform") return undefined;
  const isWhole = typeof scale === "number" && Number.isFinite(scale) && Number.isSafeInteger(seed);
  return isWhole ? { kind: initial, scale, seed: Number(seed) } : undefined;
}

/** The values of a leaf of this type; numbers are rounded to f32. */
export function initialValues(
  initial: Initial,
  type: Pick<HostTensor, "shape"> & { readonly dtype: string },
): HostTensor {
  const dtype = type.dtype as HostTensor["dtype"];
  invariant(!isPacked(dtype), "initial values are plain");
  const count = sizeOf(type.shape);
  if (initial.kind === "constant") return hostTensor(dtype, type.shape, new Float64Array(count).fill(initial.value));
  const numbers = uniformNumbers(initial.seed);
  const next = (): number => numbers.next().value;
  const data = Float64Array.from({ length: count }, () => {
    const a = next();
    if (initial.kind === "uniform") return Math.fround((2 * a - 1) * initial.scale);
    return Math.fround(Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * next()) * initial.scale);
  });
  return hostTensor(dtype, type.shape, data);
}

/** Numbers in [0, 1): mulberry32. */
function* uniformNumbers(seed: number): Generator<number, never> {
  for (let state = seed >>> 0; ;) {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    yield ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }
}
