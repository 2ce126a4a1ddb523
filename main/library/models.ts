/** A model's file as users of the library see it: its graph, and the numbers of its tensors. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import type { Graph } from "../ir/graph.ts";
import { finish } from "../ir/steps.ts";
import type { TemplateOptions } from "../models/template.ts";
import { template } from "../models/template.ts";

/**
 * The graph of one step of a model: inputs `tokens` i32[T], `past` i32[] and `logit_rows` i32[R], output `logits`, its caches
 * as states. Weights are named, not read.
 */
export const modelGraph = (file: GgufFile, options: Partial<TemplateOptions> = {}): Graph =>
  finish(template(file, { cacheType: "f16", ...options }));

/** A tensor of a file as f32 numbers, whatever it is packed in; bit for bit what ggml gives. */
export async function readNumbers(file: GgufFile, name: string, signal?: AbortSignal): Promise<Float32Array> {
  const tensor = file.requireTensor(name);
  const { element, name: type } = tensor.type;
  if (element === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[${file.name}] tensor ${name} is ${type}: cannot be unpacked`);
  return dequantize(element, await file.readTensor(tensor, { signal }), tensor.elements);
}
