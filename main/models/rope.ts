/** Rotary positions: which dimensions of a head turn, how fast, and how a longer context scales them. */
import { quote } from "../formats/gguf/header.ts";
import type { HyperReader } from "./hyperReader.ts";

export type RopeScaling =
  | { readonly kind: "none" }
  /** Positions divided by the factor. */
  | { readonly kind: "linear"; readonly factor: number }
  /** NTK-by-parts: low frequencies are divided by the factor, high ones kept, a ramp between them. */
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly originalContext: number;
      readonly betaFast: number;
      readonly betaSlow: number;
    };

export interface Rope {
  /** Dimensions of a head that are rotated. */
  readonly dims: number;
  readonly base: number;
  /** Which two dimensions turn together: (2i, 2i+1), or (i, i + dims/2). */
  readonly pairing: "adjacent" | "halves";
  readonly scaling: RopeScaling;
  /** What sine and cosine are multiplied by: attn_factor, and for yarn (1 + 0.1 · ln factor) besides. */
  readonly attentionFactor: number;
  /** Tensor of dims/2 divisors, one per frequency (how llama3 scaling travels); applies on top of `scaling`. */
  readonly factorsTensor: string | undefined;
  /** Divisors that the tensor has, where they are more than dims/2: the first of them are used. */
  readonly factorsCount?: number;
  /** Two such tensors: one for contexts of more positions than that, one for others. */
  readonly longFactors?: { readonly long: string; readonly short: string; readonly above: number } | undefined;
}

export interface RopeStyle {
  readonly pairing: Rope["pairing"];
  /** The name of a tensor of divisors, in families that have one. */
  readonly factors?: string;
  /** The family has divisors for long and short contexts. */
  readonly hasLongFactors?: boolean;
  /** The family reads how yarn ramps, and how its magnitude grows. */
  readonly hasYarnKeys?: boolean;
}

export interface RopeContext {
  readonly headDim: number;
  readonly context: number;
}

/** Defaults as in llama.cpp: a type that is not given is linear, a factor that is not given or 0 is 1. */
export function readRope(keys: HyperReader, style: RopeStyle, { headDim, context }: RopeContext): Rope {
  const { pairing, factors } = style;
  const dims = keys.optionalCount("rope.dimension_count") ?? headDim;
  if (dims === 0 || dims > headDim || dims % 2 !== 0)
    throw keys.badKey("rope.dimension_count", dims, `an even number up to ${headDim}`);
  const base = keys.optionalNumber("rope.freq_base") ?? 10_000;
  if (!(base > 0) || !Number.isFinite(base)) throw keys.badKey("rope.freq_base", base, "more than 0");
  const scaling = readScaling(keys, style, context);
  const attention = keys.optionalNumber("rope.scaling.attn_factor") ?? 1;
  if (!Number.isFinite(attention)) throw keys.badKey("rope.scaling.attn_factor", attention, "a number");
  return {
    dims,
    base,
    pairing,
    scaling,
    attentionFactor: magnitudeOf(keys, style, scaling) * attention,
    factorsTensor: factors !== undefined && keys.has(factors) ? factors : undefined,
    ...(style.hasLongFactors === true && { longFactors: readLongFactors(keys, context) }),
  };
}

function readLongFactors(keys: HyperReader, context: number): Rope["longFactors"] {
  const [long, short] = ["rope_factors_long.weight", "rope_factors_short.weight"];
  if (!keys.has(long) || !keys.has(short)) return undefined;
  return { long, short, above: originalContext(keys, context) };
}

function originalContext(keys: HyperReader, context: number): number {
  const given = keys.optionalCount("rope.scaling.original_context_length") ?? 0;
  return given === 0 ? context : given;
}

/** What yarn multiplies sine and cosine by; a file may take back part of it. */
function magnitudeOf(keys: HyperReader, { hasYarnKeys = false }: RopeStyle, scaling: RopeScaling): number {
  if (scaling.kind !== "yarn" || scaling.factor <= 1) return 1;
  const back = hasYarnKeys ? (keys.optionalNumber("rope.scaling.yarn_log_multiplier") ?? 0) : 0;
  return scalingMagnitude(scaling) / (1 + 0.1 * back * Math.log(scaling.factor));
}

/** The magnitude that comes of scaling alone. */
export const scalingMagnitude = (scaling: RopeScaling): number =>
  scaling.kind === "yarn" && scaling.factor > 1 ? 1 + 0.1 * Math.log(scaling.factor) : 1;

/** True in files whose positions have parts for time, height and width. In text the parts are equal. */
export function hasRopeSections(keys: HyperReader): boolean {
  const sections = keys.countOrFlags("rope.dimension_sections");
  return typeof sections === "object" && sections[0] === true && sections[1] === true;
}

function readScaling(keys: HyperReader, { hasYarnKeys }: RopeStyle, context: number): RopeScaling {
  const type = keys.optionalText("rope.scaling.type") ?? "linear";
  const given = keys.optionalNumber("rope.scaling.factor") ?? keys.optionalNumber("rope.scale_linear") ?? 0;
  const factor = given === 0 ? 1 : given;
  if (!(factor > 0) || !Number.isFinite(factor)) throw keys.badKey("rope.scaling.factor", factor, "more than 0");
  // Longrope's divisors are tensors; without them it is linear.
  switch (type === "longrope" ? "linear" : type) {
    case "none":
      return { kind: "none" };
    case "linear":
      return factor === 1 ? { kind: "none" } : { kind: "linear", factor };
    case "yarn": {
      const beta = (key: string, otherwise: number): number =>
        (hasYarnKeys === true ? keys.optionalNumber(`rope.scaling.${key}`) : undefined) ?? otherwise;
      return {
        kind: "yarn",
        factor,
        originalContext: originalContext(keys, context),
        betaFast: beta("yarn_beta_fast", 32),
        betaSlow: beta("yarn_beta_slow", 1),
      };
    }
    default:
      throw keys.refuse(
        `Its rope scaling ${quote(type)} is not supported (none, linear, llama3 factors and yarn are).`,
      );
  }
}

export function ropeScalingText({ factorsTensor, longFactors, scaling }: Rope): string {
  if (longFactors !== undefined) return `long factors above ${longFactors.above} positions`;
  if (factorsTensor !== undefined) return "llama3 factors";
  return scaling.kind === "none" ? "none" : `${scaling.kind} × ${scaling.factor}`;
}
