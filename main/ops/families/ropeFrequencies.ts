/**
 * Rotary frequencies in float64, with the scalings that GGUF files of these families carry. Source:
 * the published formulas of RoPE, position interpolation ("linear") and YaRN (Peng et al. 2023),
 * with llama.cpp's conventions for which dimensions YaRN interpolates.
 */

export interface RopeTableAttrs {
  /** Rotated dimensions of each head (even). */
  readonly dims: number;
  readonly base: number;
  readonly scaling: "none" | "linear" | "yarn";
  /** Stretch of the context: 4 means four times as long. */
  readonly factor: number;
  /** Context the model was trained with; YaRN only. */
  readonly originalContext: number;
  /** Multiplies the tables: the file's factor, for YaRN with its 1 + 0.1 ln factor inside. */
  readonly attentionFactor: number;
  /** YaRN: rotations over the original context above which a dimension is not interpolated. */
  readonly betaFast: number;
  /** YaRN: rotations below which it is fully interpolated. */
  readonly betaSlow: number;
}

export interface RopeFrequencies {
  /** Angle per position of each pair, before the file's own factors divide it. */
  readonly frequencies: readonly number[];
  readonly magnitude: number;
}

/** The pair that turns `rotations` times over the original context: n ln(ctx / 2πr) / (2 ln base). */
const pairOf = ({ dims, base, originalContext }: RopeTableAttrs, rotations: number): number =>
  (dims * Math.log(originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(base));

/** 1: keep the frequency (fast pairs), 0: interpolate (slow pairs). */
function keptShares(attrs: RopeTableAttrs): readonly number[] {
  const low = Math.max(0, Math.floor(pairOf(attrs, attrs.betaFast)));
  const high = Math.min(attrs.dims - 1, Math.ceil(pairOf(attrs, attrs.betaSlow)));
  return Array.from(
    { length: attrs.dims / 2 },
    (_, i) => 1 - Math.min(1, Math.max(0, (i - low) / Math.max(0.001, high - low))),
  );
}

export function ropeFrequencies(attrs: RopeTableAttrs): RopeFrequencies {
  const { dims, base, scaling, factor, attentionFactor } = attrs;
  const plain = Array.from({ length: dims / 2 }, (_, i) => base ** ((-2 * i) / dims));
  if (scaling === "none") return { frequencies: plain, magnitude: attentionFactor };
  if (scaling === "linear") return { frequencies: plain.map((f) => f / factor), magnitude: attentionFactor };
  const kept = keptShares(attrs);
  const frequencies = plain.map((f, i) => {
    const keep = kept[i] ?? 0;
    return (f / factor) * (1 - keep) + f * keep;
  });
  return { frequencies, magnitude: attentionFactor };
}

/** What ggml makes the same angles of in f32: each pair's is the one before it times a power of the base. */
export interface GgmlAngles {
  readonly base: number;
  readonly stretch: number;
  /** YaRN: how much of a pair's plain angle stays beside the stretched one. */
  readonly kept: readonly number[];
}

export function ggmlAngles(attrs: RopeTableAttrs): GgmlAngles {
  const { base, scaling, factor } = attrs;
  return {
    base,
    stretch: scaling === "none" ? 1 : Math.fround(1 / Math.fround(factor)),
    kept: scaling === "yarn" ? keptShares(attrs).map((keep) => Math.fround(1 - Math.fround(1 - keep))) : [],
  };
}

/**
 * Which of a token's positions each pair follows: 0 time, 1 height, 2 width, 3 another. In sections the first pairs follow the
 * time, the next the height, then the width (Qwen2-VL); interleaved they take turns as long as their sections last (Qwen3-VL).
 */
export function ropeStreams(pairs: number, sections: readonly number[], interleaved: boolean): readonly number[] {
  const [time = 0, height = 0, width = 0] = sections;
  const round = sections.reduce((sum, count) => sum + count, 0);
  const counts = [time, height, width];
  const inTurns = (s: number): number => (s < 3 * (counts[s % 3] ?? 0) ? s % 3 : 3);
  const inRuns = (s: number): number => (s < time ? 0 : s < time + height ? 1 : s < time + height + width ? 2 : 3);
  return Array.from({ length: pairs }, (_, i) => (interleaved ? inTurns(i % round) : inRuns(i % round)));
}
