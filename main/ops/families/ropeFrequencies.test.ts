import { expect, test } from "vitest";
import type { RopeTableAttrs } from "./ropeFrequencies.ts";
import { ggmlAngles, ropeFrequencies } from "./ropeFrequencies.ts";

const plain: RopeTableAttrs = {
  dims: 64,
  base: 1e6,
  scaling: "none",
  factor: 4,
  originalContext: 32_768,
  attentionFactor: 1,
  betaFast: 32,
  betaSlow: 1,
};

test.each(["none", "linear", "yarn"] as const)(
  "%s: what ggml makes its angles of gives the same frequencies",
  (scaling) => {
    const attrs = { ...plain, scaling };
    const { base, stretch, kept } = ggmlAngles(attrs);
    const { frequencies } = ropeFrequencies(attrs);
    expect(kept).toHaveLength(scaling === "yarn" ? 32 : 0);
    frequencies.forEach((frequency, i) => {
      const whole = base ** ((-2 * i) / attrs.dims);
      const keep = kept[i] ?? 0;
      expect(stretch * whole * (1 - keep) + whole * keep).toBeCloseTo(frequency, 7);
    });
    if (scaling === "yarn") expect(new Set([kept[0], kept.at(-1)])).toEqual(new Set([1, 0]));
  },
);
