/** The numbers of a model that a forecast needs, for one way to run it: each engine holds weights and caches in forms of its own. */
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { ModelDescription } from "../../models/describe.ts";
import type { Architecture } from "../../models/family.ts";
import type { ModelShape } from "./forecast.ts";

/** Of these tensors; those of an unknown type count as the file has them. */
export const heldBytes = (tensors: readonly GgufTensor[], held: HeldBytes): number =>
  tensors.reduce(
    (sum, { type, shape, elements, byteLength }) =>
      sum +
      (type.element === undefined ? byteLength : held({ type: type.element, shape, elements, fileBytes: byteLength })),
    0,
  );

/** Weights of experts, in one tensor or, of old files, in one for each. */
const EXPERTS = /\.ffn_\w+_exps\.|\.ffn_(?:gate|up|down)\.\d+\./u;

/** How many experts a token meets in a layer; undefined where it meets all, or there are none. */
function pickedExperts(file: GgufFile, name: string): ModelShape["experts"] {
  const number = keyNumbers(file, name);
  const [used, count] = [number("expert_used_count"), number("expert_count")];
  return used === undefined || count === undefined || used >= count ? undefined : { used, count };
}

/**
 * What one token reads, and what takes part in multiplications: an untied embedding is read one row at a time,
 * and of the experts those that are picked.
 */
export function modelShape(file: GgufFile, architecture: Architecture, held: HeldBytes = heldAsStored): ModelShape {
  const embedding = file.tensor("token_embd.weight");
  const isTied = architecture.kind === "decoder" && architecture.tiedEmbedding;
  const lookedUp = isTied || !embedding ? [] : [embedding];
  // An encoder's weights are read once for a prompt, and no others then.
  const encoder = architecture.kind === "decoder" ? architecture.encoder : undefined;
  const own = encoder === undefined ? [] : file.tensors.filter(({ name }) => encoder.isOwn(name));
  const experts = pickedExperts(file, architecture.name);
  const idle = experts === undefined ? 0 : 1 - experts.used / experts.count;
  const ofExperts = file.tensors.filter((tensor) => EXPERTS.test(tensor.name));
  const weightBytes = heldBytes(file.tensors, held);
  const elementsOf = (tensors: readonly GgufTensor[]): number =>
    tensors.reduce((sum, { elements }) => sum + elements, 0);
  return {
    weightBytes,
    bytesPerToken: Math.round(
      weightBytes - heldBytes(lookedUp, held) - heldBytes(own, held) - idle * heldBytes(ofExperts, held),
    ),
    activeParameters:
      encoder === undefined
        ? Math.round(elementsOf(file.tensors) - elementsOf(lookedUp) - idle * elementsOf(ofExperts))
        : elementsOf(own),
    layers: architecture.layers,
    width: architecture.width,
    feedForward: architecture.feedForward,
    vocabulary: architecture.vocabulary,
    ...(experts && { experts }),
    cache: architecture.kind === "decoder" ? architecture.cache : { elements: 0, product: "no caches" },
    ...(architecture.kind === "decoder" && architecture.recurrent && { recurrent: architecture.recurrent }),
  };
}

/** The numbers under the keys of a file's architecture, whatever that is. */
export function keyNumbers(file: GgufFile, name: string | undefined): (key: string) => number | undefined {
  return (key) => {
    const value = name === undefined ? undefined : file.metadata.get(`${name}.${key}`);
    return value?.kind === "number" ? value.value : undefined;
  };
}

export const nameOf = ({ architecture }: ModelDescription): string | undefined =>
  architecture.kind === "known" ? architecture.architecture.name : architecture.name;

/** Of a model without a graph: what it holds, if its keys are those of a decoder with the same cache in each layer. */
export function shapeByKeys(file: GgufFile, description: ModelDescription): ModelShape | undefined {
  const name = nameOf(description);
  const number = keyNumbers(file, name);
  const causal = file.metadata.get(`${name ?? ""}.attention.causal`);
  const kvHeads = file.metadata.get(`${name ?? ""}.attention.head_count_kv`);
  if ((causal?.kind === "bool" && !causal.value) || (kvHeads !== undefined && kvHeads.kind !== "number"))
    return undefined;
  const [layers, width, heads] = [number("block_count"), number("embedding_length"), number("attention.head_count")];
  if (!layers || !width || !heads || !description.tokenizer) return undefined;
  const perExpert = number("expert_feed_forward_length");
  const feedForward = perExpert ? perExpert * (number("expert_used_count") ?? 1) : number("feed_forward_length");
  if (!feedForward) return undefined;
  const cached = [kvHeads?.value ?? heads, number("attention.key_length") ?? width / heads] as const;
  return {
    weightBytes: description.tensorBytes,
    bytesPerToken: description.tensorBytes,
    activeParameters: description.parameters,
    layers,
    width,
    feedForward,
    vocabulary: description.tokenizer.tokens,
    cache: {
      elements: layers * 2 * cached[0] * cached[1],
      product: `${layers} layers × 2 × ${cached[0]} × ${cached[1]}`,
    },
  };
}
