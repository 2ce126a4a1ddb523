/**
 * Q8_K: 256 signed bytes and one f32 scale (ggml's form of activations; files rarely carry it).
 */
import { signed } from "./format.ts";
import type { PackedFormat } from "./format.ts";

export const q8_k: PackedFormat = {
  ggml: 15,
  elements: 256,
  bytes: 292,
  layout: "f32 d · 256 × i8 q · 16 × i16 sums of 16 q each (not needed to unpack)",
  factors: [],
  unpack(bytes, from, out, to, blocks) {
    const q = signed(bytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let b = 0; b < blocks; b++, from += 292, to += 256) {
      const d = view.getFloat32(from, true);
      for (let i = 0; i < 256; i++) out[to + i] = d * (q[from + 4 + i] ?? 0);
    }
  },
};
