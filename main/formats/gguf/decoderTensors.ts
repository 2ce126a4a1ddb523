/**
 * The tensors without which a decoder of these families has no graph, with their shapes: known from the keys alone, so that a file
 * that lacks one is found out when it is opened, not when it is to run.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Architecture } from "./architecture.ts";
import type { GgufFile } from "./file.ts";

type Needed = readonly [name: string, shape: readonly number[]];

function* neededTensors(a: Architecture): Generator<Needed> {
  const queries = a.heads * a.headDim;
  const keys = a.kvHeads * a.headDim;
  yield ["token_embd.weight", [a.vocabulary, a.width]];
  yield ["output_norm.weight", [a.width]];
  if (!a.tiedEmbedding) yield ["output.weight", [a.vocabulary, a.width]];
  for (let layer = 0; layer < a.layers; layer++) {
    const named = (name: string, ...shape: readonly number[]): Needed => [`blk.${layer}.${name}.weight`, shape];
    yield named("attn_norm", a.width);
    yield named("attn_q", queries, a.width);
    yield named("attn_k", keys, a.width);
    yield named("attn_v", keys, a.width);
    yield named("attn_output", a.width, queries);
    if (a.family === "qwen3") {
      yield named("attn_q_norm", a.headDim);
      yield named("attn_k_norm", a.headDim);
    }
    yield named("ffn_norm", a.width);
    yield named("ffn_gate", a.feedForward, a.width);
    yield named("ffn_up", a.feedForward, a.width);
    yield named("ffn_down", a.width, a.feedForward);
  }
}

/** Why these tensors make no graph: the first that is missing or has another shape; undefined when none is. */
export function missingTensor(file: GgufFile, architecture: Architecture): WorkbenchError | undefined {
  for (const [name, wanted] of neededTensors(architecture)) {
    const shape = file.tensor(name)?.shape;
    if (shape === undefined)
      return new WorkbenchError("INPUT_MISSING_TENSOR", `[${file.name}] The file has no tensor "${name}".`, {
        hint: "The file is incomplete; convert or download it again.",
        details: { tensor: name },
      });
    if (shape.length !== wanted.length || wanted.some((size, i) => size !== shape[i]))
      return new WorkbenchError(
        "INPUT_MALFORMED",
        `[${file.name}] The tensor "${name}" is [${shape.join(", ")}], and the keys say [${wanted.join(", ")}].`,
        { hint: "The keys and the tensors contradict each other; convert the model again." },
      );
  }
  return undefined;
}
