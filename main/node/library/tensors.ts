/** The numbers in a model's tensors: what they are, whether any is broken, and how far they are from another file's. */
import { dequantize } from "../../formats/quant/dequantize.ts";
import { blockLayout } from "../../ir/dtype.ts";
import type { Finding, TensorScan, Unpack } from "../../quantize/scan.ts";
import { checkTensor, scanTensor } from "../../quantize/scan.ts";
import type { Model } from "./model.ts";

export interface StatisticsOptions {
  /** Another file of the same model, for the difference. */
  readonly against?: Model;
  /** Bars of the histogram; none without it. */
  readonly bars?: number;
  readonly signal?: AbortSignal;
}

/** Range, mean, spread, zeros, values that are no numbers, and rows of zeros of one tensor. */
export const tensorStatistics = (model: Model, name: string, options: StatisticsOptions = {}): Promise<TensorScan> =>
  scanTensor(model.file, model.file.requireTensor(name), { ...options, unpack, against: options.against?.file });

/** What is wrong with the values of a file, tensor by tensor; empty for a sound one. */
export async function checkModel(
  model: Model,
  options: { readonly signal?: AbortSignal; readonly onProgress?: (tensor: string) => void } = {},
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const tensor of model.file.tensors) {
    options.onProgress?.(tensor.name);
    found.push(...(await checkTensor(model.file, tensor, { unpack, signal: options.signal })).findings);
  }
  return found;
}

const unpack: Unpack = (type, bytes) => {
  const block = blockLayout(type);
  return Promise.resolve(dequantize(type, bytes, (bytes.byteLength / block.bytes) * block.elements));
};
