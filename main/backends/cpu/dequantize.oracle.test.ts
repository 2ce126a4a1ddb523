// The engine's unpacking against ggml's, bit for bit: through the addon, on every instruction set that this machine runs. (The
// kernels under sanitizers and those of arm64 under an emulator: native/tests/kernels/dequantize_oracle.py.)
import { describe, expect, it } from "vitest";
import { blockLayout, PACKED_TYPES } from "../../ir/dtype.ts";
import { WEIGHTS } from "./rules.ts";
import { edgeBlocks, expectSameBits, randomBlocks } from "../../testing/blocks.ts";
import { ggmlDequantize, oracleMissing } from "../../testing/oracle.ts";
import { loadAddon } from "../../node/native/addon.ts";

const missing = oracleMissing();
const isas = loadAddon().isas;
/** What the kernels read in place; f32 has nothing to unpack. */
const types = WEIGHTS.filter((type) => type !== "f32");
/** Made once: ggml's answer is the same for every instruction set. */
const answers = new Map<string, Promise<Float32Array>>();

it("has every packed type, scalar code beside the rest, and no type that is not packed", () => {
  expect(types).toEqual(["f16", "bf16", ...PACKED_TYPES]);
  expect(isas[0]).toBe("scalar");
  expect(() => {
    loadAddon().dequantize("i8", new Uint8Array(32), new Float32Array(32));
  }).toThrow(expect.objectContaining({ code: "UNSUPPORTED_TENSOR_TYPE" }));
});

describe.skipIf(missing)(`unpacking in the addon ${missing ?? ""}`, () => {
  const kinds = [
    ["random blocks", randomBlocks],
    ["awkward scales", edgeBlocks],
  ] as const;
  const cases = isas.flatMap((isa) => types.flatMap((type) => kinds.map((kind) => [isa, type, ...kind] as const)));
  it.each(cases)("%s: %s, %s", async (isa, type, kind, made) => {
    const data = made(type);
    const { bytes, elements } = blockLayout(type);
    const count = (data.length / bytes) * elements;
    const key = `${type} ${kind}`;
    const want = answers.get(key) ?? ggmlDequantize(type, data, count);
    answers.set(key, want);
    const got = new Float32Array(count);
    loadAddon({ isa }).dequantize(type, data, got);
    expectSameBits(got, await want);
  });
});
