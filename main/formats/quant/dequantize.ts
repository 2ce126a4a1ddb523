/**
 * Any element type of a GGUF tensor to f32. Bit for bit what ggml gives (a NaN's payload aside: it
 * is the processor's).
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { PACKED_TYPES, blockLayout, dtypeBytes, isPacked } from "../../ir/dtype.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { bf16BytesToF32, f16BytesToF32 } from "../../quant/half.ts";
import { PACKED } from "../../quant/registry.ts";

export const dequantizableTypes: readonly ElementType[] = [
  ...(["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"] as const),
  ...PACKED_TYPES,
];

/** Unpacks `count` values; `bytes` must be exactly their blocks. */
export function dequantize(
  type: ElementType,
  bytes: Uint8Array,
  count: number,
  out = new Float32Array(count),
): Float32Array {
  const block = blockLayout(type);
  const expected = (count / block.elements) * block.bytes;
  if (bytes.byteLength !== expected || out.length !== count)
    throw new WorkbenchError(
      "BUG_INVARIANT",
      `[dequantize] ${type}: got ${bytes.byteLength} bytes for ${count} values, expected ${expected}`,
    );
  if (isPacked(type)) PACKED[type].unpack(bytes, 0, out, 0, count / block.elements);
  else dequantizePlain(type, bytes, out);
  return out;
}

/** Numbers of a plain type, for f32 to round. */
const NUMBERS = {
  f64: (view: DataView, at: number) => view.getFloat64(at, true),
  i8: (view: DataView, at: number) => view.getInt8(at),
  i16: (view: DataView, at: number) => view.getInt16(at, true),
  i32: (view: DataView, at: number) => view.getInt32(at, true),
  i64: (view: DataView, at: number) => Number(view.getBigInt64(at, true)),
} as const;

function dequantizePlain(type: ElementType, bytes: Uint8Array, out: Float32Array): void {
  switch (type) {
    case "f32":
      // By bytes: the source need not be aligned, and NaNs keep their bits.
      new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes);
      return;
    case "f16":
      f16BytesToF32(bytes, out);
      return;
    case "bf16":
      bf16BytesToF32(bytes, out);
      return;
    case "f64":
    case "i8":
    case "i16":
    case "i32":
    case "i64": {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const read = NUMBERS[type];
      const size = dtypeBytes(type);
      for (let i = 0; i < out.length; i++) out[i] = read(view, size * i);
      return;
    }
    default:
      throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[dequantize] ${type} has no meaning as a weight`, {
        hint: "Only the number types of GGUF files can be unpacked.",
      });
  }
}
