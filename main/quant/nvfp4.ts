/**
 * NVFP4: 64 values in 4 groups of 16, each with an 8-bit float without sign (4 bits of exponent, 3
 * of mantissa) as its factor. Values are four bits as in MXFP4; value i of a group is the low half
 * of byte i, value i + 8 the high half. The factor of the whole tensor is another tensor of the
 * file and is not applied here.
 */
import { codedFormat } from "./coded.ts";
import { FP4_TWICE } from "./mxfp4.ts";

/**
 * Half of the number, because the codes are twice theirs. The top bit does not count; 0 and 127 are
 * zero.
 */
function halfOfUe4m3(byte: number): number {
  if (byte === 0 || byte === 127) return 0;
  const exponent = (byte >> 3) & 15;
  const mantissa = byte & 7;
  return exponent === 0 ? mantissa * 2 ** -10 : (8 + mantissa) * 2 ** (exponent - 11);
}

export const nvfp4 = codedFormat(
  {
    ggml: 40,
    elements: 64,
    bytes: 36,
    layout: "4 × 8-bit float factor · 32 bytes: two 4-bit floats each",
    factors: [],
    minifloats: [0, 1, 2, 3],
  },
  {
    group: 16,
    largest: 12,
    read(bytes, from, codes, to, factors, at) {
      for (let g = 0; g < 4; g++, to += 16) {
        factors[at + g] = halfOfUe4m3(bytes[from + g] ?? 0);
        for (let i = 0; i < 8; i++) {
          const q = bytes[from + 4 + 8 * g + i] ?? 0;
          codes[to + i] = FP4_TWICE[q & 15] ?? 0;
          codes[to + 8 + i] = FP4_TWICE[q >> 4] ?? 0;
        }
      }
    },
  },
);
