/**
 * Q8_K: 256 signed bytes and one f32 scale (ggml's form of activations; files rarely carry it).
 */
import { codedFormat } from "./coded.ts";
import { signed, u32At } from "./format.ts";

const scratch = new DataView(new ArrayBuffer(4));

function f32At(bytes: Uint8Array, at: number): number {
  scratch.setUint32(0, u32At(bytes, at));
  return scratch.getFloat32(0);
}

export const q8_k = codedFormat(
  {
    ggml: 15,
    elements: 256,
    bytes: 292,
    layout: "f32 d · 256 × i8 q · 16 × i16 sums of 16 q each (not needed to unpack)",
    factors: [],
  },
  {
    group: 256,
    largest: 128,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f32At(bytes, from);
      codes.set(signed(bytes).subarray(from + 4, from + 260), to);
    },
  },
);
