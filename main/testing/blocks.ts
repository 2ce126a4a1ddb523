/** Packed blocks for comparing ways of unpacking them, and the comparison: bit for bit. */
import { blockLayout, isPacked } from "../ir/dtype.ts";
import type { ElementType } from "../ir/dtype.ts";
import { PACKED } from "../quant/registry.ts";
import { seededRandom } from "./random.ts";

/** Zeros, subnormals, smallest and largest normals, one, infinities, quiet and signalling NaNs. */
const AWKWARD = [
  0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3555, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
  0x7c01, 0xfe00,
];

/** About 65536 values of random blocks. */
export function randomBlocks(type: ElementType): Uint8Array {
  const { bytes, elements } = blockLayout(type);
  const random = seededRandom(42);
  return Uint8Array.from({ length: Math.ceil(65_536 / elements) * bytes }, () => random.integer(256));
}

/** Every awkward scale, or pair of scales, over quants that are random, all zero and all one. */
export function edgeBlocks(type: ElementType): Uint8Array {
  const { bytes } = blockLayout(type);
  const random = seededRandom(7);
  const { factors: fields = [], quarters = [] } = isPacked(type) ? PACKED[type] : {};
  const pairs = fields.length === 2 ? AWKWARD.flatMap((a) => AWKWARD.map((b) => [a, b])) : AWKWARD.map((a) => [a]);
  const blocks: Uint8Array[] = [];
  for (const scales of pairs)
    for (const fill of [undefined, 0, 255]) {
      const block = Uint8Array.from({ length: bytes }, () => fill ?? random.integer(256));
      fields.forEach((at, i) => new DataView(block.buffer).setUint16(at, scales[i]!, true));
      quarters.forEach((at, i) => (block[at + 1] = (block[at + 1]! & 15) | (((scales[0]! >> (4 * i)) & 15) << 4)));
      blocks.push(block);
    }
  return Uint8Array.from(blocks.flatMap((block) => [...block]));
}

/** Equal bits; a NaN equals any NaN, for its payload is the processor's choice. */
export function expectSameBits(got: Float32Array, expected: Float32Array): void {
  if (got.length !== expected.length) throw new Error(`got ${got.length} values, ggml gives ${expected.length}`);
  const a = new Uint32Array(got.buffer, got.byteOffset, got.length);
  const b = new Uint32Array(expected.slice().buffer);
  for (let i = 0; i < a.length; i++)
    if (a[i] !== b[i] && !(Number.isNaN(got[i]) && Number.isNaN(expected[i])))
      throw new Error(
        `value ${i}: got ${got[i]} (${a[i]!.toString(16)}), ggml gives ${expected[i]} (${b[i]!.toString(16)})`,
      );
}
