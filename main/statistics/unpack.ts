/** Values of any type of a file as numbers, without a loss: f64 and wide integers as doubles, everything else as ggml has it. */
import { dequantize } from "../formats/quant/dequantize.ts";
import type { ElementType } from "../ir/dtype.ts";
import { blockLayout } from "../ir/dtype.ts";

export type Numbers = Float32Array | Float64Array;

type Reader = (view: DataView, at: number) => number;
const WIDE: Readonly<Partial<Record<ElementType, Reader>>> = {
  f64: (view, at) => view.getFloat64(at, true),
  i32: (view, at) => view.getInt32(at, true),
  // Beyond 2^53 rounded, as every number here.
  i64: (view, at) => Number(view.getBigInt64(at, true)),
};

export function unpack(type: ElementType, bytes: Uint8Array): Numbers {
  const block = blockLayout(type);
  const count = (bytes.byteLength / block.bytes) * block.elements;
  const read = WIDE[type];
  if (read === undefined) return dequantize(type, bytes, count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: count }, (_, i) => read(view, i * block.bytes));
}
