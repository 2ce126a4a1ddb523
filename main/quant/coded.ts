/**
 * Packed types whose values are a whole number times a factor: x = factor · code, one factor for
 * each group of values, codes within −128..127. Such a type says how a block's codes and factors
 * are read; everything else follows: its values, and the forms of backends that keep whole numbers.
 */
import type { PackedFormat } from "./format.ts";

export interface CodedGroups {
  /** Values that share a factor. */
  readonly group: number;
  /** The largest magnitude of a code. */
  readonly largest: number;
  /**
   * Reads one block: its codes from `to` on, its factors from `at` on. A factor is exact in f32.
   */
  readonly read: (
    bytes: Uint8Array,
    from: number,
    codes: Int8Array,
    to: number,
    factors: Float32Array,
    at: number,
  ) => void;
}

export function codedFormat(facts: Omit<PackedFormat, "unpack" | "coded">, coded: CodedGroups): PackedFormat {
  const { elements, bytes: size } = facts;
  const { group, read } = coded;
  const codes = new Int8Array(elements);
  const factors = new Float32Array(elements / group);
  return {
    ...facts,
    coded,
    unpack(bytes, from, out, to, blocks) {
      for (let b = 0; b < blocks; b++, from += size) {
        read(bytes, from, codes, 0, factors, 0);
        for (let i = 0, g = 0; i < elements; g++) {
          const factor = factors[g] ?? 0;
          for (const end = i + group; i < end; i++) out[to++] = factor * (codes[i] ?? 0);
        }
      }
    },
  };
}
