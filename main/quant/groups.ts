/**
 * The scales and minimums of a block: x = scale · q + minimum, for each group of values that shares them. Types of whole codes
 * (`coded`) say their scales themselves and have no minimums; the others stand here.
 */
import type { PackedFormat } from "./format.ts";
import { signed, unpackScales } from "./format.ts";
import { f16At } from "./half.ts";
import type { PackedType } from "./registry.ts";
import { PACKED } from "./registry.ts";

export interface BlockGroups {
  /** Groups of a block. */
  readonly count: number;
  readonly hasMinimums: boolean;
  /** Reads one block at `from`: a scale and a minimum for each group. */
  readonly read: (bytes: Uint8Array, from: number, scales: Float32Array, minimums: Float32Array) => void;
}

const oneScale: BlockGroups = {
  count: 1,
  hasMinimums: false,
  read: (bytes, from, scales) => {
    scales[0] = f16At(bytes, from);
  },
};

const scaleAndMinimum: BlockGroups = {
  count: 1,
  hasMinimums: true,
  read: (bytes, from, scales, minimums) => {
    scales[0] = f16At(bytes, from);
    minimums[0] = f16At(bytes, from + 2);
  },
};

const sixBits = new Uint8Array(16);
const eightOfSixBits: BlockGroups = {
  count: 8,
  hasMinimums: true,
  read: (bytes, from, scales, minimums) => {
    const [d, dmin] = [f16At(bytes, from), f16At(bytes, from + 2)];
    unpackScales(bytes, from + 4, sixBits);
    for (let g = 0; g < 8; g++) {
      scales[g] = d * (sixBits[g] ?? 0);
      minimums[g] = -dmin * (sixBits[8 + g] ?? 0);
    }
  },
};

const OWN: Readonly<Partial<Record<PackedType, BlockGroups>>> = {
  q4_0: oneScale,
  q5_0: oneScale,
  q8_0: oneScale,
  q4_1: scaleAndMinimum,
  q5_1: scaleAndMinimum,
  q4_k: eightOfSixBits,
  q5_k: eightOfSixBits,
  q2_k: {
    count: 16,
    hasMinimums: true,
    read: (bytes, from, scales, minimums) => {
      const [d, dmin] = [f16At(bytes, from + 80), f16At(bytes, from + 82)];
      for (let g = 0; g < 16; g++) {
        const packed = bytes[from + g] ?? 0;
        scales[g] = d * (packed & 15);
        minimums[g] = -dmin * (packed >> 4);
      }
    },
  },
  q6_k: {
    count: 16,
    hasMinimums: false,
    read: (bytes, from, scales) => {
      const d = f16At(bytes, from + 208);
      const parts = signed(bytes);
      for (let g = 0; g < 16; g++) scales[g] = d * (parts[from + 192 + g] ?? 0);
    },
  },
};

/** undefined for a type whose values have no scale of a group. */
export function blockGroups(type: PackedType): BlockGroups | undefined {
  const own = OWN[type];
  if (own !== undefined) return own;
  const { elements, coded }: PackedFormat = PACKED[type];
  if (coded === undefined) return undefined;
  const codes = new Int8Array(elements);
  return {
    count: elements / coded.group,
    hasMinimums: false,
    read: (bytes, from, scales) => coded.read(bytes, from, codes, 0, scales, 0),
  };
}
