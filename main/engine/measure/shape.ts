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
      (type.element === undefined
        ? byteLength
        : held({ type: type.element, rank: shape.length, elements, fileBytes: byteLength })),
    0,
  );

/** What one token reads, and what takes part in multiplications: an untied embedding is read one row at a time. */
export function modelShape(file: GgufFile, architecture: Architecture, held: HeldBytes = heldAsStored): ModelShape {
  const embedding = file.tensor("token_embd.weight");
  const lookedUp = architecture.tiedEmbedding || !embedding ? [] : [embedding];
  const weightBytes = heldBytes(file.tensors, held);
  const elementsOf = (tensors: readonly GgufTensor[]): number =>
    tensors.reduce((sum, { elements }) => sum + elements, 0);
  return {
    weightBytes,
    bytesPerToken: weightBytes - heldBytes(lookedUp, held),
    activeParameters: elementsOf(file.tensors) - elementsOf(lookedUp),
    layers: architecture.layers,
    width: architecture.width,
    feedForward: architecture.feedForward,
    vocabulary: architecture.vocabulary,
    cache: architecture.cache,
    ...(architecture.recurrent !== undefined && { recurrent: architecture.recurrent }),
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
