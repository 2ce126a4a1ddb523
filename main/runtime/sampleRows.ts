/**
 * Drawing and scoring over rows of logits in TypeScript: for the reference device and the simulator. The native engine has its own.
 */
import type { SampledToken, SampleOptions } from "../ir/session.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { seededRandom } from "./statistics.ts";

function lastRow(logits: HostTensor): Float64Array {
  const width = logits.shape.at(-1) ?? 1;
  return logits.data.subarray(logits.data.length - width);
}

function logSumExp(row: Float64Array): number {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  return largest + Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0));
}

/** The same steps in the same order as the native sampler (native/src/cpu/sample.cpp); another random number generator. */
export function draw(logits: HostTensor, options: SampleOptions): SampledToken {
  const row = lastRow(logits);
  const normaliser = logSumExp(row);
  const logprob = (id: number): number => (row[id] ?? NaN) - normaliser;
  const adjusted = row.slice();
  for (const id of new Set(options.recent)) {
    const logit = adjusted[id];
    if (logit !== undefined) adjusted[id] = logit > 0 ? logit / options.repeatPenalty : logit * options.repeatPenalty;
  }
  const order = [...adjusted.keys()].sort((a, b) => (adjusted[b] ?? 0) - (adjusted[a] ?? 0) || a - b);
  const byModel =
    options.alternatives > 0 ? [...row.keys()].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b) : [];
  const top = byModel.slice(0, options.alternatives).map((id) => ({ id, logprob: logprob(id) }));
  const [best = 0] = order;
  if (options.temperature <= 0 || options.topK === 1) return { id: best, logprob: logprob(best), top };
  let kept = order
    .slice(0, options.topK === 0 ? order.length : options.topK)
    .map((id) => ({ id, weight: Math.exp(((adjusted[id] ?? 0) - (adjusted[best] ?? 0)) / options.temperature) }));
  const total = kept.reduce((sum, { weight }) => sum + weight, 0);
  let seen = 0;
  const nucleus = kept.findIndex(({ weight }) => (seen += weight) >= options.topP * total);
  if (options.topP < 1 && nucleus >= 0) kept = kept.slice(0, nucleus + 1);
  kept = kept.filter(({ weight }, i) => i === 0 || weight >= options.minP);
  const mark =
    seededRandom((options.seed ^ Math.imul(options.step + 1, 0x9e3779b9)) >>> 0)() *
    kept.reduce((sum, { weight }) => sum + weight, 0);
  let passed = 0;
  const chosen = kept.find(({ weight }) => (passed += weight) > mark) ?? kept.at(-1);
  const id = chosen?.id ?? best;
  return { id, logprob: logprob(id), top };
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
