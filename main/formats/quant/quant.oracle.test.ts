/** Unpacking against ggml itself: bit for bit, on random blocks and on blocks whose scales are the awkward ones. */
import { describe, expect, it } from "vitest";
import { blockLayout } from "../../ir/dtype.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { BLOCK_FACTORS } from "../../testing/weightFile.ts";
import { ask, ggmlDequantize, ggmlQuantize, ggufPackageDequantize, oracleMissing } from "../../testing/oracle.ts";
import { randomFloats, seededRandom } from "../../testing/random.ts";
import { GGML_TYPES } from "../gguf/types.ts";
import { dequantize, dequantizableTypes } from "./dequantize.ts";
import { f32ToBf16Array, f32ToF16Array } from "./half.ts";

const missing = oracleMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** Zeros, subnormals, the smallest and largest normals, one, infinities, and NaNs (quiet and signalling). */
const AWKWARD = [
  0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3555, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
  0x7c01, 0xfe00,
];

/** Every awkward scale (pairs of them where there are two) over quants that are random, all zero and all one. */
function edgeBlocks(type: ElementType): Uint8Array {
  const { bytes } = blockLayout(type);
  const random = seededRandom(7);
  const fields = BLOCK_FACTORS[type] ?? [];
  const pairs = fields.length === 2 ? AWKWARD.flatMap((a) => AWKWARD.map((b) => [a, b])) : AWKWARD.map((a) => [a]);
  const blocks: Uint8Array[] = [];
  for (const scales of pairs)
    for (const fill of [undefined, 0, 255]) {
      const block = Uint8Array.from({ length: bytes }, () => fill ?? random.integer(256));
      fields.forEach((at, i) => new DataView(block.buffer).setUint16(at, scales[i]!, true));
      blocks.push(block);
    }
  return Uint8Array.from(blocks.flatMap((block) => [...block]));
}

/** Equal bits; a NaN equals any NaN, for its payload is the processor's choice. */
function expectSameBits(got: Float32Array, expected: Float32Array): void {
  expect(got.length).toBe(expected.length);
  const a = new Uint32Array(got.buffer, got.byteOffset, got.length);
  const b = new Uint32Array(expected.slice().buffer);
  for (let i = 0; i < a.length; i++)
    if (a[i] !== b[i] && !(Number.isNaN(got[i]) && Number.isNaN(expected[i])))
      throw new Error(
        `value ${i}: got ${got[i]} (${a[i]!.toString(16)}), ggml gives ${expected[i]} (${b[i]!.toString(16)})`,
      );
}

describe.skipIf(missing)(`unpacking as ggml does ${missing ?? ""}`, () => {
  const types = dequantizableTypes.filter((type) => type !== "f64");

  it.each(types)("%s on random blocks", async (type) => {
    const { bytes, elements } = blockLayout(type);
    const blocks = Math.ceil(65_536 / elements);
    const random = seededRandom(42);
    const data = Uint8Array.from({ length: blocks * bytes }, () => random.integer(256));
    const count = blocks * elements;
    expectSameBits(dequantize(type, data, count), await ggmlDequantize(type, data, count));
  });

  it.each(types.filter((type) => BLOCK_FACTORS[type] !== undefined))(
    "%s on blocks with awkward scales",
    async (type) => {
      const data = edgeBlocks(type);
      const count = (data.length / blockLayout(type).bytes) * blockLayout(type).elements;
      expectSameBits(dequantize(type, data, count), await ggmlDequantize(type, data, count));
    },
  );

  it.each(["q4_k", "q5_k", "q6_k", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1"] as const)(
    "%s on what ggml packed, as the gguf package does",
    async (type) => {
      const values = randomFloats(seededRandom(3), 16 * 512);
      const data = await ggmlQuantize(type, values, [16, 512]);
      const got = dequantize(type, data, values.length);
      expectSameBits(got, await ggufPackageDequantize(type, data, [16, 512]));
      const worst = Math.max(...got.map((x, i) => Math.abs(x - values[i]!)));
      expect(worst).toBeLessThan(0.5);
    },
  );

  it("rounds to f16 and bf16 as ggml does", async () => {
    const random = seededRandom(5);
    const bits = Uint32Array.from({ length: 200_000 }, () => random.integer(2 ** 32));
    // Half of them in the range where f16 is interesting, with every tail of 13 bits that decides a tie.
    for (let i = 0; i < 100_000; i++)
      bits[i] =
        (((100 + (i % 45)) << 23) | ((i * 2654435761) & 0x807fe000) | [0, 0xfff, 0x1000, 0x1001, 0x1fff][i % 5]!) >>> 0;
    const values = new Float32Array(bits.buffer);
    const expectSame = (got: Uint16Array, expected: Uint8Array, nan: number): void => {
      const want = new Uint16Array(expected.slice().buffer);
      for (let i = 0; i < got.length; i++)
        if (got[i] !== want[i] && !((got[i]! & 0x7fff) > nan && (want[i]! & 0x7fff) > nan))
          throw new Error(
            `${values[i]} (${bits[i]!.toString(16)}): got ${got[i]!.toString(16)}, ggml gives ${want[i]!.toString(16)}`,
          );
    };
    expectSame(f32ToF16Array(values), await ggmlQuantize("f16", values, [1, values.length]), 0x7c00);
    expectSame(f32ToBf16Array(values), await ggmlQuantize("bf16", values, [1, values.length]), 0x7f80);
  });
});

describe.skipIf(missing)(`the table of tensor types ${missing ?? ""}`, () => {
  it("has ggml's numbers and sizes, and all of its types", async () => {
    const table = (await ask("ggml.type_table")) as { id: number; name: string; block: number; bytes: number }[];
    expect(GGML_TYPES.map((t) => ({ id: t.id, name: t.name, block: t.blockSize, bytes: t.blockBytes }))).toEqual(table);
  });

  it("agrees with the element types of the graph", () => {
    for (const type of GGML_TYPES)
      if (type.element !== undefined)
        expect(blockLayout(type.element)).toEqual({ elements: type.blockSize, bytes: type.blockBytes });
  });
});
