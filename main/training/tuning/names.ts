/** Which tensors of a model are trained: by patterns, or those that people usually train. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { matchesName } from "../../formats/gguf/namePattern.ts";
import type { Graph, LowRank, WeightSource } from "../../ir/graph.ts";
import { finish } from "../../ir/steps.ts";
import type { TensorType } from "../../ir/type.ts";
import { EMBEDDING } from "../../models/blocks.ts";
import type { DecoderArchitecture } from "../../models/family.ts";

/** The tensors that match one of the patterns; a pattern for nothing is a slip. */
export function chosen(
  all: readonly string[],
  patterns: readonly string[] | undefined,
  usual: (name: string) => boolean,
  what: string,
): readonly string[] {
  const slip = patterns?.find((pattern) => !all.some((name) => matchesName(name, pattern)));
  if (slip !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] tensors: got "${slip}", expected a part of ${what}`, {
      hint: `These are ${some(all)}; * stands for anything.`,
    });
  const found = all.filter((name) =>
    patterns === undefined ? usual(name) : patterns.some((pattern) => matchesName(name, pattern)),
  );
  if (found.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] tensors: got none, expected ${what}`, {
      hint: `Name some of ${some(all)}.`,
    });
  return found;
}

const some = (names: readonly string[]): string =>
  names.length > 6 ? `${names.slice(0, 6).join(", ")} and ${names.length - 6} more` : names.join(", ") || "none";

/** The matrices that the graph multiplies by in a way that adapters can change, in the order of the graph. */
export function adaptable(architecture: DecoderArchitecture, weights: WeightSource): readonly string[] {
  const asked = new Set<string>();
  const watch: LowRank = {
    rankOf(tensor) {
      asked.add(tensor);
      return undefined;
    },
    factor: () => 0,
    parts: (tensor) => ({ a: tensor, b: tensor }),
  };
  oneStep(architecture, { ...weights, adapters: [watch] });
  return [...asked];
}

/** What a graph reads of files: some graphs ask for a tensor and then have no use for it. */
export const paramsOf = ({ nodes }: Graph): ReadonlyMap<string, TensorType> =>
  new Map(
    nodes.flatMap(({ op, attrs, outputs: [type] }) =>
      op === "param" && type !== undefined ? [[String(attrs["name"]), type] as const] : [],
    ),
  );

/** The smallest graph of the model: for what it reads. */
export const oneStep = (architecture: DecoderArchitecture, weights: WeightSource): Graph =>
  finish(architecture.graph(weights, { capacity: 2, cacheType: "f32", largestStep: 1, largestRows: 1 }));

/**
 * Matrices of layers: attention and feed-forward, or what stands in their place. Routers are left out, and so are the two halves
 * of latent attention (attn_k_b, attn_v_b), which llama.cpp multiplies by without adapters.
 */
export const isUsual = (name: string): boolean =>
  name.startsWith("blk.") && !/\.(ffn_gate_inp(_shexp)?|attn_[kv]_b)\.weight$/u.test(name);

/** Every weight but the numbers that angles are made from. */
export const isWeight = (name: string): boolean => !/(^|\.)rope_(freqs|factors_(long|short))\.weight$/u.test(name);

export const isEmbedding = (name: string): boolean => name === EMBEDDING;
