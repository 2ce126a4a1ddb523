/** Unpacking against ggml itself, bit for bit: random blocks, and blocks with awkward scales. */
import { describe, expect, it } from "vitest";
import { blockLayout, isInteger, isPacked } from "../../ir/dtype.ts";
import { PACKED } from "../../quant/registry.ts";
import { edgeBlocks, expectSameBits, randomBlocks } from "../../testing/blocks.ts";
import { ask, ggmlDequantize, ggmlQuantize, ggufPackageDequantize, oracleMissing } from "../../testing/oracle.ts";
import { randomFloats, seededRandom } from "../../testing/random.ts";
import { GGML_TYPES } from "../gguf/types.ts";
import { dequantize, dequantizableTypes } from "./dequantize.ts";
import { f32ToBf16Array, f32ToF16Array } from "../../quant/half.ts";

const missing = oracleMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

describe.skipIf(missing)(`unpacking as ggml does ${missing ?? ""}`, () => {
  const types = dequantizableTypes.filter((type) => type !== "f64" && !isInteger(type));

  it.each(types)("%s on random blocks", async (type) => {
    const data = randomBlocks(type);
    const count = (data.length / blockLayout(type).bytes) * blockLayout(type).elements;
    expectSameBits(dequantize(type, data, count), await ggmlDequantize(type, data, count));
  });

  it.each(types.filter((type) => isPacked(type) && (PACKED[type].factors.length > 0 || PACKED[type].quarters)))(
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
    // Half of them in the range where f16 is interesting, with every tail of 13 bits that decides a
    // tie.
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
        expect(blockLayout(type.element)).toMatchObject({ elements: type.blockSize, bytes: type.blockBytes });
  });
});
