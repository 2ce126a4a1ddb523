/**
 * TQ2_0: 256 values, x = (q − 1) · d, q of two bits. In a half of 128 values, value 32·j + i is at
 * bit 2j of byte i. Models trained for it hold −1, 0 and 1 only.
 */
import type { PackedFormat } from "./format.ts";
import { f16At } from "./half.ts";

export const tq2_0: PackedFormat = {
  ggml: 35,
  elements: 256,
  bytes: 66,
  layout: "64 bytes: four 2-bit q each · f16 d",
  factors: [64],
  unpack(bytes, from, out, to, blocks) {
    for (let b = 0; b < blocks; b++, from += 66) {
      const d = f16At(bytes, from + 64);
      for (let run = 0; run < 8; run++) {
        const at = from + 32 * (run >> 2);
        const shift = 2 * (run & 3);
        for (let i = 0; i < 32; i++) out[to++] = ((((bytes[at + i] ?? 0) >> shift) & 3) - 1) * d;
      }
    }
  },
};
