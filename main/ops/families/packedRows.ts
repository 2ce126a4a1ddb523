/** Rows of a cache as blocks of 32 numbers: their bytes, and what they stand for. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { f32ToF16 } from "../../quant/half.ts";
import { PACKED } from "../../quant/registry.ts";
import { unsupported } from "../defineOp.ts";
import { at } from "./host.ts";

/** Element types that keys and values can be packed in. */
export const CACHE_PACKINGS = ["q8_0", "q4_0"] as const;
export type CachePacking = (typeof CACHE_PACKINGS)[number];

const BLOCK = 32;

/** Bytes of a packed row of so many numbers. */
export function packedRowBytes(op: string, size: Dim | undefined, packing: CachePacking): number {
  if (typeof size !== "number" || size < 1 || size % BLOCK !== 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] rows: got ${size ?? "none"} numbers, expected a multiple of ${BLOCK}`,
    );
  return (size / BLOCK) * PACKED[packing].bytes;
}

/** Numbers in a packed row of so many bytes. */
export function packedRowSize(op: string, bytes: Dim | undefined, packing: CachePacking): number {
  const { bytes: each } = PACKED[packing];
  if (typeof bytes !== "number" || bytes < 1 || bytes % each !== 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] cache: got rows of ${bytes ?? "no"} bytes, expected a multiple of ${each} for ${packing}`,
    );
  return (bytes / each) * BLOCK;
}

const { fround } = Math;

/** ggml's rules: of Q8_0 the largest magnitude gets 127, halves rounded away from 0; of Q4_0 it gets -8. In f32. */
export function packBlock(
  x: ArrayLike<number>,
  from: number,
  packing: CachePacking,
  out: Float64Array,
  to: number,
): void {
  let peak = 0;
  for (let i = 0; i < BLOCK; i++) if (Math.abs(at(x, from + i)) > Math.abs(peak)) peak = at(x, from + i);
  const d = packing === "q8_0" ? fround(Math.abs(fround(peak)) / 127) : fround(fround(peak) / -8);
  const inverse = d === 0 ? 0 : fround(1 / d);
  const bits = f32ToF16(d);
  out[to] = bits & 255;
  out[to + 1] = bits >> 8;
  const scaled = (i: number): number => fround(fround(at(x, from + i)) * inverse);
  if (packing === "q8_0")
    for (let i = 0; i < BLOCK; i++) {
      const value = scaled(i);
      out[to + 2 + i] = (Math.sign(value) * Math.floor(Math.abs(value) + 0.5)) & 255;
    }
  else {
    const code = (i: number): number => Math.min(15, Math.max(0, Math.trunc(fround(scaled(i) + 8.5))));
    for (let i = 0; i < BLOCK / 2; i++) out[to + 2 + i] = code(i) | (code(i + BLOCK / 2) << 4);
  }
}

/** Packed rows [.., bytes] as numbers [.., size]. */
export function unpackRows(cache: HostTensor, packing: CachePacking): HostTensor {
  const shape = [...cache.shape.slice(0, -1), packedRowSize("cache", cache.shape.at(-1), packing)];
  const blocks = cache.data.length / PACKED[packing].bytes;
  const out = new Float32Array(blocks * BLOCK);
  PACKED[packing].unpack(Uint8Array.from(cache.data), 0, out, 0, blocks);
  return hostTensor("f32", shape, Float64Array.from(out));
}

/** By NumPy: `unpack(rows of bytes)`. */
export const UNPACK_NUMPY = `
def unpack(x):
    q4 = a["packing"] == "q4_0"
    b = x.astype(np.uint8).reshape(*x.shape[:-1], -1, 18 if q4 else 34)
    d = b[..., :2].copy().view(np.float16).astype(np.float64)
    q = np.concatenate([b[..., 2:] & 15, b[..., 2:] >> 4], -1).astype(np.float64) - 8 if q4 else b[..., 2:].copy().view(np.int8).astype(np.float64)
    return (d * q).reshape(*x.shape[:-1], -1)
`.trim();

export const PACKED_ON_CPU = {
  coreml: unsupported("Core ML has no caches of packed blocks: choose f16"),
  mlx: unsupported("MLX has no kernel that attends over these blocks in place: choose f16 or f32"),
} as const;
