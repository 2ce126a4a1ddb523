/** Tensor types: an element type (plain or packed) and a shape of dims; broadcasting and sizes. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Sizes, Dim, Shape } from "./dim.ts";
import { bindDim, canonicalDim, divDims, mulDims, productOf, staticDim } from "./dim.ts";
import type { DType, ElementType } from "./dtype.ts";
import { blockLayout, isElementType } from "./dtype.ts";

export interface TensorType {
  readonly dtype: ElementType;
  readonly shape: Shape;
}

export const tensor = (dtype: ElementType, shape: Shape): TensorType => ({ dtype, shape });
export const scalar = (dtype: DType): TensorType => ({ dtype, shape: [] });
export const like = (type: TensorType, dtype: ElementType = type.dtype): TensorType => ({ dtype, shape: type.shape });

export const sameShape = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((dim, i) => dim === b[i]);
export const sameType = (a: TensorType, b: TensorType): boolean => a.dtype === b.dtype && sameShape(a.shape, b.shape);

export const elementCount = (type: TensorType): Dim => productOf(type.shape);

/** Bytes of the packed or plain tensor. A packed row must be a whole number of blocks. */
export function byteLength(type: TensorType): Dim {
  const block = blockLayout(type.dtype);
  const blocks = divDims(elementCount(type), block.elements);
  if (blocks === undefined || divDims(type.shape.at(-1) ?? 1, block.elements) === undefined)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${type.dtype}] ${formatType(type)} has rows that are not a whole number of ${block.elements}-element blocks`,
    );
  return mulDims(blocks, block.bytes);
}

export const staticShape = (type: TensorType, source: string): readonly number[] =>
  type.shape.map((dim) => staticDim(dim, source));

export const bindType = (type: TensorType, bindings: Sizes): TensorType =>
  type.shape.every((dim) => typeof dim === "number")
    ? type
    : { dtype: type.dtype, shape: type.shape.map((dim) => bindDim(dim, bindings)) };

/** `q4_k[4096,14336]`, `f32[T,1024]`, `i32[]`. */
export const formatType = (type: TensorType): string => `${type.dtype}[${type.shape.join(",")}]`;

/** Reads what `formatType` writes. */
export function parseType(text: string): TensorType {
  const match = /^([a-z0-9_]+)\[([^[\]]*)\]$/.exec(text.replace(/\s+/g, ""));
  const [, name = "", dims = ""] = match ?? [];
  if (!match || !isElementType(name))
    throw new WorkbenchError("IR_TYPE", `[type] got "${text.slice(0, 80)}", expected a type such as f32[T,1024]`);
  const shape = dims === "" ? [] : dims.split(",").map((dim) => canonicalDim(/^\d+$/.test(dim) ? Number(dim) : dim));
  return { dtype: name, shape };
}

/** NumPy broadcasting, right-aligned; a symbol meets itself or 1. */
export function broadcastShapes(a: Shape, b: Shape, source: string): Shape {
  const rank = Math.max(a.length, b.length);
  const result: Dim[] = [];
  for (let i = 0; i < rank; i++) {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x === y || y === 1) result.push(x);
    else if (x === 1) result.push(y);
    else
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${source}] shapes do not broadcast: got [${a.join(",")}] and [${b.join(",")}]`,
      );
  }
  return result;
}

/** 0 <= axis < rank, counting from the end when negative. */
export function normalizeAxis(axis: number, rank: number, source: string): number {
  const at = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(at) || at < 0 || at >= rank)
    throw new WorkbenchError("IR_SHAPE", `[${source}] axis out of range: got ${axis}, expected -${rank}..${rank - 1}`);
  return at;
}
