/**
 * The tensors that the graph of a decoder of these families reads, with their shapes: known from the keys alone, so that a file that
 * lacks one, or has another shape, is found out when it is opened, not when it is to run.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Architecture } from "./architecture.ts";
import type { GgufFile } from "./file.ts";

export interface DecoderTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** A bias: some files have it, and a graph without it is a graph. */
  readonly optional: boolean;
}

const needed = (name: string, ...shape: readonly number[]): DecoderTensor => ({ name, shape, optional: false });

export function* decoderTensors(a: Architecture): Generator<DecoderTensor> {
  const queries = a.heads * a.headDim;
  const keys = a.kvHeads * a.headDim;
  yield needed("token_embd.weight", a.vocabulary, a.width);
  yield needed("output_norm.weight", a.width);
  if (!a.tiedEmbedding) yield needed("output.weight", a.vocabulary, a.width);
  if (a.rope.factorsTensor !== undefined) yield needed(a.rope.factorsTensor, a.rope.dims / 2);
  for (let layer = 0; layer < a.layers; layer++) {
    const block = `blk.${layer}.`;
    yield needed(`${block}attn_norm.weight`, a.width);
    yield needed(`${block}ffn_norm.weight`, a.width);
    if (a.family === "qwen3") {
      yield needed(`${block}attn_q_norm.weight`, a.headDim);
      yield needed(`${block}attn_k_norm.weight`, a.headDim);
    }
    const products: readonly (readonly [name: string, out: number, inner: number])[] = [
      ["attn_q", queries, a.width],
      ["attn_k", keys, a.width],
      ["attn_v", keys, a.width],
      ["attn_output", a.width, queries],
      ["ffn_gate", a.feedForward, a.width],
      ["ffn_up", a.feedForward, a.width],
      ["ffn_down", a.width, a.feedForward],
    ];
    for (const [name, out, inner] of products) {
      yield needed(`${block}${name}.weight`, out, inner);
      yield { name: `${block}${name}.bias`, shape: [out], optional: true };
    }
  }
}

/** Why these tensors make no graph: the first that is missing or has another shape; undefined when none is. */
export function missingTensor(file: GgufFile, architecture: Architecture): WorkbenchError | undefined {
  for (const { name, shape, optional } of decoderTensors(architecture)) {
    const found = file.tensor(name)?.shape;
    if (found === undefined) {
      if (!optional) return noTensor(file.name, name);
    } else if (found.length !== shape.length || shape.some((size, i) => size !== found[i]))
      return wrongShape(file.name, name, `[${found.join(",")}]`, shape);
  }
  return undefined;
}

export const noTensor = (who: string, name: string): WorkbenchError =>
  new WorkbenchError("INPUT_MISSING_TENSOR", `[${who}] the file has no tensor "${name}"`, {
    hint: "The file is incomplete; convert or download it again.",
    details: { tensor: name },
  });

export const wrongShape = (
  who: string,
  name: string,
  got: string,
  expected: readonly (number | string)[],
): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${who}] tensor "${name}": got ${got}, expected [${expected.join(",")}]`, {
    hint: "The file's keys and tensors contradict each other; convert the model again.",
  });
