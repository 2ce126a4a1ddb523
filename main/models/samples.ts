/** Sizes that families' samples share: small, odd, and different in what tends to be mixed up. */
import type { FamilySample, SampleKeys } from "./family.ts";

interface Variation {
  readonly title: string;
  readonly keys: SampleKeys;
  readonly untied: boolean;
  /** With the optional tensors. */
  readonly full: boolean;
}

const BASE: SampleKeys = {
  block_count: 2,
  context_length: 256,
  embedding_length: 96,
  feed_forward_length: 64,
  "attention.head_count": 6,
  "attention.head_count_kv": 2,
};

const SIZES: readonly Variation[] = [
  { title: "small", keys: {}, untied: false, full: false },
  {
    title: "three layers, one key head, own output",
    keys: { block_count: 3, feed_forward_length: 160, "attention.head_count": 4, "attention.head_count_kv": 1 },
    untied: true,
    full: true,
  },
  {
    title: "heads wider than their share",
    keys: { "attention.key_length": 32, "attention.value_length": 32 },
    untied: false,
    full: true,
  },
  {
    title: "a key head for each, one layer, another base",
    keys: {
      block_count: 1,
      embedding_length: 64,
      feed_forward_length: 96,
      "attention.head_count": 2,
      "attention.head_count_kv": 2,
      "rope.freq_base": 100000,
    },
    untied: true,
    full: false,
  },
];

export interface SampleStyle {
  readonly keys: SampleKeys;
  /** "both": some samples have an output matrix of their own. */
  readonly output?: "tied" | "own" | "both";
  /** Optional tensors of the samples that have them. */
  readonly optional?: RegExp;
  /** Tensors that all samples have, though the graph can do without. */
  readonly always?: RegExp;
  /** Heads as wide as their share of the width only. */
  readonly equalHeads?: boolean;
  /** As many key heads as heads only. */
  readonly ownKeys?: boolean;
  readonly marks?: FamilySample["marks"];
  readonly drafts?: number;
}

const joined = (...patterns: readonly (RegExp | undefined)[]): RegExp | undefined => {
  const sources = patterns.flatMap((pattern) => (pattern === undefined ? [] : [pattern.source]));
  return sources.length === 0 ? undefined : new RegExp(sources.join("|"), "u");
};

/** Four files of one architecture. */
export function samplesOf(architecture: string, style: SampleStyle): readonly FamilySample[] {
  const { output = "both", optional, always, marks, drafts } = style;
  return SIZES.map(({ title, keys, untied, full }): FamilySample => {
    const all = { ...BASE, ...keys };
    const heads = all["attention.head_count"] ?? 1;
    const isWide = all["attention.key_length"] !== undefined;
    const equal =
      style.equalHeads === true && isWide ? { "attention.key_length": 16, "attention.value_length": 16 } : {};
    const has = joined(always, full ? optional : undefined);
    return {
      title,
      architecture,
      keys: {
        ...all,
        ...equal,
        ...(style.ownKeys === true && { "attention.head_count_kv": heads }),
        ...style.keys,
      },
      untied: output === "both" ? untied : output === "own",
      ...(has !== undefined && { has }),
      ...(marks !== undefined && { marks }),
      ...(drafts !== undefined && { drafts }),
    };
  });
}

/** One more file: small, or with everything that samplesOf's full ones have. */
export function sampleOf(
  architecture: string,
  title: string,
  { full = false, ...style }: SampleStyle & { readonly full?: boolean },
): FamilySample {
  const [small, whole] = samplesOf(architecture, style);
  const sample = full ? whole : small;
  if (sample === undefined) throw new Error("samplesOf gives four");
  return { ...sample, title };
}
