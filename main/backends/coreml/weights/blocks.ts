/**
 * GGUF blocks → codes, scales and minimums, a run of blocks at a time, in tight loops over typed
 * arrays: gigabytes go through here. Codes come out in the order of the elements (GGUF interleaves
 * nibbles); what a block means:
 *
 *   Q8_0 d·q            Q4_0 d·(q−8)     Q5_0 d·(q−16)     Q4_1, Q5_1 d·q + m
 *   Q6_K d·sc·(q−32)    Q4_K, Q5_K (d·sc)·q − dmin·m, eight sub-blocks of 32 with 6-bit sc and m
 *
 * Every function returns through `BlockRun`: codes (see each), the exact float32 scale of each
 * block, and for types with a minimum the value that is added (m, or −dmin·m).
 */
import type { PackedType } from "../../../ir/dtype.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { PackedFormat } from "../../../quant/format.ts";
import { signed } from "../../../quant/format.ts";
import { f16Table } from "../../../quant/half.ts";
import { PACKED } from "../../../quant/registry.ts";

/** Output arrays for a run of blocks; reused from run to run. */
export interface BlockRun {
  /** int4 pairs (element 0 in the low nibble) or one byte per element, by type. */
  readonly codes: Uint8Array;
  readonly scale: Float32Array;
  /** Added per block; unused for symmetric types. */
  readonly add: Float32Array;
}

type Unpack = (src: Uint8Array, blocks: number, out: BlockRun) => void;

/** As 16-bit words; every block type has an even size, so a run starts on an even byte. */
const halves = (src: Uint8Array): Uint16Array => new Uint16Array(src.buffer, src.byteOffset, src.byteLength >> 1);
const words16 = (out: Uint8Array): Uint16Array => new Uint16Array(out.buffer, out.byteOffset, out.byteLength >> 1);
const words32 = (out: Uint8Array): Int32Array => new Int32Array(out.buffer, out.byteOffset, out.byteLength >> 2);

/** Four bytes from two 16-bit words. */
const word = (h: Uint16Array, at: number): number => (h[at] as number) | ((h[at + 1] as number) << 16);

/** Low nibbles of four bytes as one 16-bit word of packed nibbles. */
function pairs(nibbles: number): number {
  const p = nibbles | (nibbles >>> 4);
  return (p & 0xff) | ((p >>> 8) & 0xff00);
}

/**
 * Sixteen bytes hold 32 elements: byte j has element j low and j+16 high. `flip` is xor-ed into
 * each pair of pairs.
 */
function nibbles32(h: Uint16Array, at: number, out: Uint16Array, to: number, flip: number): void {
  for (let j = 0; j < 4; j++) {
    const w = word(h, at + 2 * j);
    out[to + j] = pairs(w & 0x0f0f0f0f) ^ flip;
    out[to + 4 + j] = pairs((w >>> 4) & 0x0f0f0f0f) ^ flip;
  }
}

/** uint4 codes 0..15. */
const q4_0: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words16(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    out.scale[b] = half[h[9 * b] as number] as number;
    nibbles32(h, 9 * b + 1, codes, 8 * b, 0);
  }
};

/** uint4 codes 0..15. */
const q4_1: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words16(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    out.scale[b] = half[h[10 * b] as number] as number;
    out.add[b] = half[h[10 * b + 1] as number] as number;
    nibbles32(h, 10 * b + 2, codes, 8 * b, 0);
  }
};

/** Bytes 0..31: nibbles plus the fifth bits in a 32-bit word. */
function fives(h: Uint16Array, qh: number, at: number, out: Uint8Array, to: number): void {
  for (let j = 0; j < 8; j++) {
    const w = h[at + j] as number;
    const i = 2 * j;
    out[to + i] = (w & 15) | (((qh >>> i) & 1) << 4);
    out[to + i + 1] = ((w >>> 8) & 15) | (((qh >>> (i + 1)) & 1) << 4);
    out[to + i + 16] = ((w >>> 4) & 15) | (((qh >>> (i + 16)) & 1) << 4);
    out[to + i + 17] = (w >>> 12) | (((qh >>> (i + 17)) & 1) << 4);
  }
}

/** uint8 codes 0..31. */
const q5_0: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    out.scale[b] = half[h[11 * b] as number] as number;
    fives(h, word(h, 11 * b + 1), 11 * b + 3, out.codes, 32 * b);
  }
};

/** uint8 codes 0..31. */
const q5_1: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    out.scale[b] = half[h[12 * b] as number] as number;
    out.add[b] = half[h[12 * b + 1] as number] as number;
    fives(h, word(h, 12 * b + 2), 12 * b + 4, out.codes, 32 * b);
  }
};

/** int8 codes as they are. */
const q8_0: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words16(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    out.scale[b] = half[h[17 * b] as number] as number;
    for (let j = 0; j < 16; j++) codes[16 * b + j] = h[17 * b + 1 + j] as number;
  }
};

/** Scale and minimum of the eight sub-blocks: 12 bytes hold sixteen 6-bit numbers. */
function scales6(src: Uint8Array, at: number, d: number, dmin: number, out: BlockRun, to: number): void {
  for (let j = 0; j < 4; j++) {
    const [low, mid, high] = [src[at + j] as number, src[at + 4 + j] as number, src[at + 8 + j] as number];
    out.scale[to + j] = d * (low & 63);
    out.add[to + j] = -(dmin * (mid & 63));
    out.scale[to + 4 + j] = d * ((high & 15) | ((low >> 6) << 4));
    out.add[to + 4 + j] = -(dmin * ((high >> 4) | ((mid >> 6) << 4)));
  }
}

/** uint4 codes 0..15; eight scales a super-block. */
const q4_k: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words16(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    scales6(src, 144 * b + 4, half[h[72 * b] as number] as number, half[h[72 * b + 1] as number] as number, out, 8 * b);
    for (let chunk = 0; chunk < 4; chunk++) {
      const at = 72 * b + 8 + 16 * chunk;
      const to = 64 * b + 16 * chunk;
      for (let j = 0; j < 8; j++) {
        const w = word(h, at + 2 * j);
        codes[to + j] = pairs(w & 0x0f0f0f0f);
        codes[to + 8 + j] = pairs((w >>> 4) & 0x0f0f0f0f);
      }
    }
  }
};

/** uint8 codes 0..31; eight scales a super-block. */
const q5_k: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words32(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    scales6(src, 176 * b + 4, half[h[88 * b] as number] as number, half[h[88 * b + 1] as number] as number, out, 8 * b);
    for (let chunk = 0; chunk < 4; chunk++)
      for (let j = 0; j < 8; j++) {
        const bits = word(h, 88 * b + 8 + 2 * j) >>> (2 * chunk);
        const w = word(h, 88 * b + 24 + 16 * chunk + 2 * j);
        codes[64 * b + 16 * chunk + j] = (w & 0x0f0f0f0f) | ((bits & 0x01010101) << 4);
        codes[64 * b + 16 * chunk + 8 + j] = ((w >>> 4) & 0x0f0f0f0f) | ((bits & 0x02020202) << 3);
      }
  }
};

/** uint8 codes 0..63; sixteen scales a super-block. */
const q6_k: Unpack = (src, blocks, out) => {
  const h = halves(src);
  const codes = words32(out.codes);
  const half = f16Table();
  for (let b = 0; b < blocks; b++) {
    const d = half[h[105 * b + 104] as number] as number;
    for (let j = 0; j < 16; j++) out.scale[16 * b + j] = d * (((src[210 * b + 192 + j] as number) << 24) >> 24);
    for (let part = 0; part < 2; part++)
      for (let j = 0; j < 8; j++) {
        const low = word(h, 105 * b + 32 * part + 2 * j);
        const mid = word(h, 105 * b + 32 * part + 16 + 2 * j);
        const high = word(h, 105 * b + 64 + 16 * part + 2 * j);
        const to = 64 * b + 32 * part + j;
        codes[to] = (low & 0x0f0f0f0f) | ((high & 0x03030303) << 4);
        codes[to + 8] = (mid & 0x0f0f0f0f) | ((high & 0x0c0c0c0c) << 2);
        codes[to + 16] = ((low >>> 4) & 0x0f0f0f0f) | (high & 0x30303030);
        codes[to + 24] = ((mid >>> 4) & 0x0f0f0f0f) | ((high >>> 2) & 0x30303030);
      }
  }
};

export interface BlockType {
  readonly unpack: Unpack;
  /** Elements and bytes of what `unpack` takes at a time. */
  readonly elements: number;
  readonly bytes: number;
  /** Elements per scale. */
  readonly group: number;
  readonly codeBits: 4 | 8;
  /** The code that means zero (before the minimum): w = scale·(code − zero) + add. */
  readonly zero: number;
  readonly hasMinimum: boolean;
  /** The largest size of a code less zero. */
  readonly largest: number;
}

const block = (
  unpack: Unpack,
  elements: number,
  bytes: number,
  group: number,
  codeBits: 4 | 8,
  zero: number,
  hasMinimum: boolean,
): BlockType => ({
  unpack,
  elements,
  bytes,
  group,
  codeBits,
  zero,
  hasMinimum,
  largest: zero === 0 ? 127 : zero,
});

const TYPES: { readonly [T in PackedType]?: BlockType } = {
  q4_0: block(q4_0, 32, 18, 32, 4, 8, false),
  q4_1: block(q4_1, 32, 20, 32, 4, 0, true),
  q5_0: block(q5_0, 32, 22, 32, 8, 16, false),
  q5_1: block(q5_1, 32, 24, 32, 8, 0, true),
  q8_0: block(q8_0, 32, 34, 32, 8, 0, false),
  q4_k: block(q4_k, 256, 144, 32, 4, 0, true),
  q5_k: block(q5_k, 256, 176, 32, 8, 0, true),
  q6_k: block(q6_k, 256, 210, 16, 8, 32, false),
};

export function blockType(type: PackedType): BlockType {
  const found = TYPES[type] ?? codedBlocks(type);
  if (found === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[coreml] no mapping for ${type} weights`);
  return found;
}

/** int8 codes as main/quant reads them. */
function codedBlocks(type: PackedType): BlockType | undefined {
  const { elements, bytes, coded }: PackedFormat = PACKED[type];
  if (coded === undefined) return undefined;
  const unpack: Unpack = (src, blocks, out) => {
    const codes = signed(out.codes);
    for (let b = 0; b < blocks; b++)
      coded.read(src, b * bytes, codes, b * elements, out.scale, b * (elements / coded.group));
  };
  return { ...block(unpack, elements, bytes, coded.group, 8, 0, false), largest: coded.largest };
}
