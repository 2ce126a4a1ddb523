/**
 * Any element type of a GGUF tensor to f32. Bit for bit what ggml gives (a NaN's payload aside: it
 * is the processor's).
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { PACKED_TYPES, blockLayout, isPacked } from "../../ir/dtype.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { bf16BytesToF32, f16BytesToF32 } from "../../quant/half.ts";
import { PACKED } from "../../quant/registry.ts";

export const dequantizableTypes: readonly ElementType[] = ["f32", "f16", "bf16", "f64", ...PACKED_TYPES];

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
    case "f64": {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let i = 0; i < out.length; i++) out[i] = view.getFloat64(8 * i, true);
      return;
    }
    default:
      throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[dequantize] ${type} has no meaning as a weight`, {
        hint: "Only floating-point and packed tensors can be unpacked.",
      });
  }
}
