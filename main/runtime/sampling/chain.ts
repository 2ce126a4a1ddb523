/**
 * The chain that a token is drawn by. This is its one description; the native engines take some of
 * its steps in the same way (`TokenRunner.steps`), and chains with other steps are drawn here over
 * fetched logits. In order:
 *
 *   1 logit bias              added to the logits of chosen tokens
 *   2 constraint              tokens that a grammar does not allow go
 *   3 repetition, frequency   and presence penalty, over the last tokens
 *   4 DRY                     what goes on with a repetition loses
 *   5 temperature             0 takes the most probable token, and the chain ends
 *   6 mirostat                in place of 7 to 11
 *   7 top-k · 8 typical · 9 top-p · 10 min-p · 11 XTC
 *   12 draw                   by a number that depends on seed and step only
 *
 * Logits are float32 as the engines have them, so that TypeScript draws the engines' tokens.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ChainStep, SampleOptions, TokenConstraint, Xtc } from "../../ir/session.ts";
import type { Candidates } from "./candidates.ts";
import { first, largest, sumOf } from "./candidates.ts";
import { dryPenalties } from "./dry.ts";
import { mirostatKept, mirostatObserve } from "./mirostat.ts";
import { uniform } from "./random.ts";

const OPTIONAL_STEPS: readonly ChainStep[] = [
  ...(["logitBias", "constraint", "frequencyPenalty", "presencePenalty", "dry"] as const),
  ...(["mirostat", "typicalP", "xtc"] as const),
];

/** The steps of a draw beyond those that every engine takes. */
export const stepsOf = (options: SampleOptions): readonly ChainStep[] =>
  OPTIONAL_STEPS.filter((step) => options[step] !== undefined);

/** The id that the chain draws from a row of logits. */
export function drawId(row: ArrayLike<number>, options: SampleOptions): number {
  const logits = adjusted(row, options);
  if (options.temperature <= 0 || (options.topK === 1 && options.mirostat === undefined)) return best(logits);
  const kept = candidates(logits, options);
  const sum = sumOf(kept.weights);
  const mark = uniform(options.seed, options.step) * sum;
  let passed = 0;
  let chosen = kept.weights.findIndex((weight) => (passed += weight) > mark);
  if (chosen < 0) chosen = kept.ids.length - 1;
  if (options.mirostat !== undefined) mirostatObserve(options.mirostat, (kept.weights[chosen] ?? 0) / sum);
  return kept.ids[chosen] ?? 0;
}

function best(logits: Float32Array): number {
  let at = 0;
  for (let id = 1; id < logits.length; id++) if ((logits[id] ?? NaN) > (logits[at] ?? NaN)) at = id;
  return at;
}

/** The logits after steps 1 to 4. */
export function adjusted(row: ArrayLike<number>, options: SampleOptions): Float32Array {
  const logits = new Float32Array(row);
  const change = (id: number, to: (logit: number) => number): void => {
    const logit = logits[id];
    if (logit !== undefined) logits[id] = to(logit);
  };
  for (const { id, bias } of options.logitBias ?? []) change(id, (logit) => logit + bias);
  if (options.constraint !== undefined) constrain(logits, options.constraint);
  const { frequencyPenalty = 0, presencePenalty = 0 } = options;
  const repeatPenalty = Math.fround(options.repeatPenalty);
  if (repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0)
    for (const [id, times] of counted(options.recent)) {
      const amount = Math.fround(times * frequencyPenalty + presencePenalty);
      change(id, (logit) => Math.fround(logit > 0 ? logit / repeatPenalty : logit * repeatPenalty) - amount);
    }
  if (options.dry !== undefined)
    for (const [id, amount] of dryPenalties(options.dry)) change(id, (logit) => logit - amount);
  return logits;
}

function constrain(logits: Float32Array, constraint: TokenConstraint): void {
  const allowed = constraint.allowed();
  let any = false;
  for (let id = 0; id < logits.length; id++)
    if ((((allowed[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 0) logits[id] = -Infinity;
    else any = true;
  if (any) return;
  throw new WorkbenchError("RUN_FAILED", "[sample] the grammar: no token of the vocabulary can come next", {
    hint: "The grammar wants a character that this model's vocabulary cannot write.",
  });
}

function counted(tokens: Int32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

/** The tokens that steps 5 to 11 leave. */
export function candidates(logits: Float32Array, options: SampleOptions): Candidates {
  const { temperature, topK, topP, minP, typicalP = 1, xtc, mirostat } = options;
  const limit = topK === 0 || mirostat !== undefined ? logits.length : Math.min(topK, logits.length);
  const ids = largest(logits, limit);
  const most = logits[ids[0] ?? 0] ?? NaN;
  if (!Number.isFinite(most)) throw new WorkbenchError("RUN_FAILED", "[sample] the logits are not finite");
  const weights = new Float64Array(ids.length);
  for (let i = 0; i < ids.length; i++) weights[i] = Math.exp(((logits[ids[i] ?? 0] ?? 0) - most) / temperature);
  const none = weights.indexOf(0);
  let kept: Candidates = none < 0 ? { ids, weights } : first({ ids, weights }, none);
  if (mirostat !== undefined) return mirostatKept(kept, mirostat, logits.length);
  if (typicalP < 1) kept = typical(kept, typicalP);
  if (topP < 1) kept = nucleus(kept, topP);
  if (minP > 0) kept = aboveShare(kept, minP);
  return xtc === undefined ? kept : withoutTop(kept, xtc, uniform(options.seed, options.step, "xtc"));
}

/** Those whose surprise is nearest to the expected one, until they pass this share. */
function typical({ ids, weights }: Candidates, share: number): Candidates {
  const sum = sumOf(weights);
  const surprise = weights.map((weight) => -Math.log(weight / sum));
  const expected = surprise.reduce((total, bits, i) => total + bits * ((weights[i] ?? 0) / sum), 0);
  const distance = surprise.map((bits) => Math.abs(bits - expected));
  const order = Array.from(distance.keys()).sort((a, b) => (distance[a] ?? 0) - (distance[b] ?? 0) || a - b);
  let passed = 0;
  const last = order.findIndex((i) => (passed += (weights[i] ?? 0) / sum) > share);
  const kept = Int32Array.from(last < 0 ? order : order.slice(0, last + 1)).sort();
  return { ids: kept.map((i) => ids[i] ?? 0), weights: Float64Array.from(kept, (i) => weights[i] ?? 0) };
}

function nucleus(candidates: Candidates, share: number): Candidates {
  const wanted = share * sumOf(candidates.weights);
  let passed = 0;
  const last = candidates.weights.findIndex((weight) => (passed += weight) >= wanted);
  return last < 0 ? candidates : first(candidates, last + 1);
}

function aboveShare(candidates: Candidates, share: number): Candidates {
  const least = share * (candidates.weights[0] ?? 0);
  const below = candidates.weights.findIndex((weight, i) => i > 0 && weight < least);
  return below < 0 ? candidates : first(candidates, below);
}

function withoutTop({ ids, weights }: Candidates, { probability, threshold }: Xtc, chance: number): Candidates {
  if (threshold > 0.5 || chance >= probability) return { ids, weights };
  const least = threshold * sumOf(weights);
  const below = weights.findIndex((weight) => weight < least);
  const gone = Math.max(0, (below < 0 ? weights.length : below) - 1);
  return { ids: ids.subarray(gone), weights: weights.subarray(gone) };
}
