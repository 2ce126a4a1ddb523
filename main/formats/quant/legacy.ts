/**
 * The formats of 32 values per block: one f16 scale d, for some also an f16 offset m, and 4, 5 or 8 bits per value.
 * Nibbles: value i is the low half of byte i, value i + 16 the high half. Every product and sum is rounded to f32 once,
 * as ggml's C code does; the order of the operations is part of the format.
 */
import { f16At } from "../../ir/half.ts";
import { signed } from "./format.ts";
import type { BlockFormat } from "./format.ts";

const fround = Math.fround;

/** x = d · (q − 8) */
export const q4_0: BlockFormat = {
  type: "q4_0",
  blockSize: 32,
  blockBytes: 18,
  layout: "f16 d · 16 bytes: two 4-bit q each",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 18, to += 32) {
      const d = f16At(bytes, from);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 2 + i] ?? 0;
        out[to + i] = ((q & 15) - 8) * d;
        out[to + 16 + i] = ((q >> 4) - 8) * d;
      }
    }
  },
};

/** x = d · q + m */
export const q4_1: BlockFormat = {
  type: "q4_1",
  blockSize: 32,
  blockBytes: 20,
  layout: "f16 d · f16 m · 16 bytes: two 4-bit q each",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 20, to += 32) {
      const d = f16At(bytes, from);
      const m = f16At(bytes, from + 2);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 4 + i] ?? 0;
        out[to + i] = fround((q & 15) * d) + m;
        out[to + 16 + i] = fround((q >> 4) * d) + m;
      }
    }
  },
};

/** x = d · (q − 16); the fifth bit of value i is bit i of a 32-bit word. */
export const q5_0: BlockFormat = {
  type: "q5_0",
  blockSize: 32,
  blockBytes: 22,
  layout: "f16 d · u32 fifth bits · 16 bytes: the low four bits of two q each",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 22, to += 32) {
      const d = f16At(bytes, from);
      const high = u32At(bytes, from + 2);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 6 + i] ?? 0;
        out[to + i] = (((q & 15) | (((high >>> i) & 1) << 4)) - 16) * d;
        out[to + 16 + i] = (((q >> 4) | (((high >>> (i + 16)) & 1) << 4)) - 16) * d;
      }
    }
  },
};

/** x = d · q + m, with five bits */
export const q5_1: BlockFormat = {
  type: "q5_1",
  blockSize: 32,
  blockBytes: 24,
  layout: "f16 d · f16 m · u32 fifth bits · 16 bytes: the low four bits of two q each",
  dequantize(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 24, to += 32) {
      const d = f16At(bytes, from);
      const m = f16At(bytes, from + 2);
      const high = u32At(bytes, from + 4);
      for (let i = 0; i < 16; i++) {
        const q = bytes[from + 8 + i] ?? 0;
        out[to + i] = fround(((q & 15) | (((high >>> i) & 1) << 4)) * d) + m;
        out[to + 16 + i] = fround(((q >> 4) | (((high >>> (i + 16)) & 1) << 4)) * d) + m;
      }
    }
  },
};

/** x = d · q */
export const q8_0: BlockFormat = {
  type: "q8_0",
  blockSize: 32,
  blockBytes: 34,
  layout: "f16 d · 32 × i8 q",
  dequantize(bytes, from, out, to, blocks) {
    const q = signed(bytes);
    for (let b = 0; b < blocks; b++, from += 34, to += 32) {
      const d = f16At(bytes, from);
      for (let i = 0; i < 32; i++) out[to + i] = (q[from + 2 + i] ?? 0) * d;
    }
  },
};

function u32At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
  );
}
