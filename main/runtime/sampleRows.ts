/** Drawing and scoring over rows of fetched logits: for what an engine does not do itself. */
import type { SampledToken, SampleOptions } from "../ir/session.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { largest } from "./sampling/candidates.ts";
import { drawId } from "./sampling/chain.ts";

function lastRow(logits: HostTensor): Float64Array {
  const width = logits.shape.at(-1) ?? 1;
  return logits.data.subarray(logits.data.length - width);
}

function logSumExp(row: Float64Array): number {
  let most = -Infinity;
  for (let i = 0; i < row.length; i++) most = Math.max(most, row[i] ?? NaN);
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += Math.exp((row[i] ?? NaN) - most);
  return most + Math.log(sum);
}

/** A token of the last row, by the chain (sampling/chain.ts), with the model's own probabilities. */
export function draw(logits: HostTensor, options: SampleOptions): SampledToken {
  const row = lastRow(logits);
  const normaliser = logSumExp(row);
  const probability = (id: number): { readonly id: number; readonly logprob: number } => ({
    id,
    logprob: (row[id] ?? NaN) - normaliser,
  });
  const top = options.alternatives > 0 ? largest(new Float32Array(row), options.alternatives) : [];
  return { ...probability(drawId(row, options)), top: Array.from(top, probability) };
}

export function scoreRows(
  logits: HostTensor,
  targets: Int32Array,
): { readonly logprobs: Float32Array; readonly best: Int32Array } {
  const width = logits.shape.at(-1) ?? 1;
  const logprobs = new Float32Array(targets.length);
  const best = new Int32Array(targets.length);
  targets.forEach((target, i) => {
    const row = logits.data.subarray(i * width, (i + 1) * width);
    best[i] = row.reduce((at, x, id) => (x > (row[at] ?? -Infinity) ? id : at), 0);
    logprobs[i] = target < 0 ? 0 : (row[target] ?? NaN) - logSumExp(row);
  });
  return { logprobs, best };
}
