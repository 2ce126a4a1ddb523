/** Sizes that samples of families with latent attention share: small, odd, and different in what tends to be mixed up. */
import type { FamilySample, SampleKeys } from "./family.ts";

interface LatentSize {
  readonly title: string;
  readonly heads: number;
  readonly still: number;
  readonly turning: number;
  readonly value: number;
  readonly rank: number;
  readonly queryRank: number;
  readonly keys: SampleKeys;
  readonly isUntied?: boolean;
  /** With the optional tensors. */
  readonly isFull?: boolean;
}

const BASE: SampleKeys = {
  block_count: 2,
  context_length: 256,
  embedding_length: 96,
  feed_forward_length: 64,
};

const SIZES: readonly LatentSize[] = [
  { title: "small", heads: 6, still: 24, turning: 8, value: 20, rank: 32, queryRank: 24, keys: {} },
  {
    title: "four layers, sizes of whole blocks, own output",
    heads: 4,
    still: 32,
    turning: 16,
    value: 32,
    rank: 64,
    queryRank: 64,
    keys: { block_count: 4, feed_forward_length: 160 },
    isUntied: true,
    isFull: true,
  },
  {
    title: "values wider than keys, another base",
    heads: 3,
    still: 12,
    turning: 4,
    value: 40,
    rank: 24,
    queryRank: 16,
    keys: { "rope.freq_base": 100000 },
    isFull: true,
  },
  {
    title: "one head that mostly turns",
    heads: 1,
    still: 2,
    turning: 30,
    value: 16,
    rank: 10,
    queryRank: 40,
    keys: { embedding_length: 64, feed_forward_length: 96 },
    isUntied: true,
  },
];

export interface LatentStyle {
  readonly keys: SampleKeys;
  /** What is cached: latents, or the keys and values of each head. */
  readonly cache: "latents" | "heads";
  /** The file has no attention.q_lora_rank. */
  readonly hasNoQueryRank?: boolean;
  readonly optional?: RegExp;
  readonly output?: "tied";
  readonly marks?: (turning: number) => NonNullable<FamilySample["marks"]>;
  readonly drafts?: number;
}

/** Four files of one architecture. */
export function latentSamplesOf(architecture: string, style: LatentStyle): readonly FamilySample[] {
  const { optional, output, marks, drafts, hasNoQueryRank = false } = style;
  return SIZES.map(({ title, heads, turning, queryRank, keys, isUntied = false, isFull = false, ...size }) => ({
    title,
    architecture,
    keys: {
      ...BASE,
      ...keys,
      "attention.head_count": heads,
      "attention.layer_norm_rms_epsilon": 1e-6,
      "rope.dimension_count": turning,
      "attention.kv_lora_rank": size.rank,
      ...(hasNoQueryRank ? {} : { "attention.q_lora_rank": queryRank }),
      ...headKeys(style.cache, heads, { turning, ...size }),
      ...style.keys,
    },
    untied: isUntied && output !== "tied",
    ...(isFull && optional !== undefined && { has: optional }),
    ...(marks !== undefined && { marks: marks(turning) }),
    ...(drafts !== undefined && { drafts }),
  }));
}

function headKeys(
  cache: LatentStyle["cache"],
  heads: number,
  { still, turning, value, rank }: Pick<LatentSize, "still" | "turning" | "value" | "rank">,
): SampleKeys {
  const key = still + turning;
  if (cache === "heads")
    return { "attention.head_count_kv": heads, "attention.key_length": key, "attention.value_length": value };
  return {
    "attention.head_count_kv": 1,
    "attention.key_length": rank + turning,
    "attention.value_length": rank,
    "attention.key_length_mla": key,
    "attention.value_length_mla": value,
  };
}

/** One more file, of the first or of the second size. */
export function latentSampleOf(
  architecture: string,
  title: string,
  { isFull = false, ...style }: LatentStyle & { readonly isFull?: boolean },
): FamilySample {
  const [small, whole] = latentSamplesOf(architecture, style);
  const sample = isFull ? whole : small;
  if (sample === undefined) throw new Error("latentSamplesOf gives four");
  return { ...sample, title };
}
