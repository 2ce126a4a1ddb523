/** Layers that see only the newest positions: how many, which layers, and the rope of their own that they may have. */
import type { HyperReader } from "./hyperReader.ts";
import type { Rope } from "./rope.ts";
import { scalingMagnitude } from "./rope.ts";

export interface Windows {
  /** Positions that such a layer sees, its own among them. */
  readonly size: number;
  readonly isLocal: (layer: number) => boolean;
  /** Positions are cut into runs of `size`; a token sees those of its own run. */
  readonly isChunked?: boolean;
}

export interface LocalRope {
  /** Where the file has no rope.freq_base_swa; without it the base is that of the other layers, whatever the file says. */
  readonly base?: number | "same";
  /** Scaled like the others. */
  readonly isScaled: boolean;
  /** What sine and cosine are multiplied by, where it is not the file's number. */
  readonly attentionFactor?: number;
}

export interface WindowRules {
  /** The last layer of so many sees everything, where the file does not say otherwise. */
  readonly period: number;
  /** The family's files may list the layers with a window; in other files a list says nothing. */
  readonly isListed?: boolean;
  /** The first layer of the period sees everything instead of the last. */
  readonly isDenseFirst?: boolean;
  /** Positions where the file names none; without it such a file has no windows. */
  readonly size?: number;
  /** Rope of the layers with a window, in families where it can differ. */
  readonly rope?: LocalRope;
}

export function readWindows(keys: HyperReader, layers: number, rules: WindowRules): Windows | undefined {
  const size = keys.optionalCount("attention.sliding_window") ?? rules.size ?? 0;
  if (size === 0) return undefined;
  const given = keys.countOrFlags("attention.sliding_window_pattern") ?? rules.period;
  const pattern = typeof given === "number" || rules.isListed === true ? given : rules.period;
  if (typeof pattern !== "number") {
    if (pattern.length < layers)
      throw keys.badKey("attention.sliding_window_pattern", `${pattern.length} entries`, `one for each of ${layers}`);
    return { size, isLocal: (layer) => pattern[layer] === true };
  }
  const full = rules.isDenseFirst === true ? 0 : pattern - 1;
  return { size, isLocal: (layer) => pattern === 0 || layer % pattern !== full };
}

export function localRope(keys: HyperReader, rope: Rope, rules: LocalRope): Rope {
  const { base: otherwise, isScaled } = rules;
  const given = otherwise === undefined ? undefined : keys.optionalNumber("rope.freq_base_swa");
  const base = given ?? (typeof otherwise === "number" ? otherwise : rope.base);
  if (!(base > 0) || !Number.isFinite(base)) throw keys.badKey("rope.freq_base_swa", base, "more than 0");
  if (isScaled) return { ...rope, base };
  const attentionFactor = rules.attentionFactor ?? rope.attentionFactor / scalingMagnitude(rope.scaling);
  return { ...rope, base, scaling: { kind: "none" }, attentionFactor };
}
