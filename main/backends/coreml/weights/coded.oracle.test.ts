/**
 * Types of whole codes as they are stored in a package, against ggml: both profiles that keep
 * codes, and the native error.
 */
import { describe, expect, it } from "vitest";
import { dequantize } from "../../../formats/quant/dequantize.ts";
import { nativeMeasure } from "../../../engine/models/packageRequest.ts";
import { loadAddon } from "../../../node/native/addon.ts";
import { PACKED, PACKED_TYPES } from "../../../quant/registry.ts";
import { ggmlDequantize, oracleMissing } from "../../../testing/oracle.ts";
import { packedBytes } from "../../../testing/weightFile.ts";
import { RowConverter, reconstruct } from "./convert.ts";
import { bitsPerWeight, formFor } from "./forms.ts";

const missing = oracleMissing();
const COUNT = 16 * 512;
const CODED = PACKED_TYPES.filter((type) => PACKED[type].coded !== undefined);

describe.skipIf(missing)(`types of whole codes ${missing ?? ""}`, () => {
  it.each(CODED)(
    "%s: gpu within fp16 rounding of the scale, exact within float32, and as the native engine says",
    async (type) => {
      const bytes = packedBytes(type, COUNT, 5);
      // ggml has no way to unpack Q8_K.
      const exact = type === "q8_k" ? dequantize(type, bytes, COUNT) : await ggmlDequantize(type, bytes, COUNT);
      for (const [profile, limit] of [
        ["gpu", 2 ** -10],
        ["exact", 2e-7],
      ] as const) {
        const form = formFor(type, profile);
        const parts = new RowConverter(type, form, 0, dequantize).convert(bytes.slice(), COUNT);
        const stored = reconstruct(form, parts, COUNT, 0);
        const error = Math.sqrt(stored.reduce((sum, x, i) => sum + (x - exact[i]!) ** 2, 0));
        const size = Math.hypot(...exact);
        expect(error / size, profile).toBeLessThan(limit);
        const native = await nativeMeasure(loadAddon())({ type, original: bytes, count: COUNT, form, parts, fold: 0 });
        expect(Math.sqrt(native.error / native.energy), profile).toBeCloseTo(error / size, 8);
      }
      expect(bitsPerWeight(formFor(type, "ane"))).toBe(16);
    },
  );

  it("keeps small codes in four bits", () => {
    expect(CODED.filter((type) => bitsPerWeight(formFor(type, "gpu")) <= 5)).toEqual([
      "q3_k",
      "tq2_0",
      "tq1_0",
      "q1_0",
      "q2_0",
    ]);
    expect(bitsPerWeight(formFor("tq2_0", "gpu"))).toBe(4 + 16 / 256);
    expect(bitsPerWeight(formFor("mxfp4", "gpu"))).toBe(8.5);
  });
});
