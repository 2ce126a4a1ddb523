/**
 * How far a model's distributions are from a reference's over the same tokens: the KL divergence of each predicted token,
 * Σ p · (ln p − ln q) with p the reference's, and whether both find the same token the likeliest. Weights that are close do not
 * make answers that are close; distributions do.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { DecoderSession, FeedOptions } from "./decoderSession.ts";
import { deviation, mean, median, quantile } from "./statistics.ts";

/** Log-probabilities of the reference that are kept: each predicted token has one for each token of the vocabulary. */
const MOST_BYTES = 1 << 30;
/** Bytes of logits that one run gives. */
const RUN_BYTES = 64 << 20;

/** What the reference says of the tokens: the log-probabilities after each of them but the last. */
export interface ReferenceRows {
  readonly vocabulary: number;
  readonly rows: readonly Float32Array[];
  readonly perplexity: number;
}

export interface Distance {
  readonly perplexity: number;
  readonly divergence: {
    readonly mean: number;
    readonly error: number;
    readonly median: number;
    readonly high: number;
  };
  readonly sameTop: number;
}

/** Tokens of which the reference's rows fit in memory. */
export const mostTokens = (vocabulary: number): number => Math.floor(MOST_BYTES / (4 * vocabulary)) + 1;

export async function readReference(
  session: DecoderSession,
  tokens: Int32Array,
  options: FeedOptions,
): Promise<ReferenceRows> {
  const rows: Float32Array[] = [];
  let sum = 0;
  await eachRow(session, tokens, options, (row, next) => {
    rows.push(row);
    sum -= row[next] ?? NaN;
  });
  return { vocabulary: session.facts.vocabulary, rows, perplexity: Math.exp(sum / rows.length) };
}

export async function distanceFrom(
  { vocabulary, rows }: ReferenceRows,
  session: DecoderSession,
  tokens: Int32Array,
  options: FeedOptions,
): Promise<Distance> {
  if (session.facts.vocabulary !== vocabulary)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[quality] the vocabulary: got ${session.facts.vocabulary} tokens, expected the reference's ${vocabulary}`,
      { hint: "Compare files that were made of the same model." },
    );
  const each: number[] = [];
  let same = 0;
  let sum = 0;
  await eachRow(session, tokens, options, (row, next, at) => {
    const reference = rows[at] ?? new Float32Array(0);
    each.push(divergenceOf(reference, row));
    if (likeliest(reference) === likeliest(row)) same += 1;
    sum -= row[next] ?? NaN;
  });
  return {
    perplexity: Math.exp(sum / each.length),
    divergence: {
      mean: mean(each),
      error: deviation(each) / Math.sqrt(each.length),
      median: median(each),
      high: quantile(each, 0.99),
    },
    sameTop: same / each.length,
  };
}

/** The log-probabilities after each token but the last, with the token that follows in the text. */
async function eachRow(
  session: DecoderSession,
  tokens: Int32Array,
  { signal, onProgress }: FeedOptions,
  take: (row: Float32Array, next: number, at: number) => void,
): Promise<void> {
  const { chunk, vocabulary } = session.facts;
  const most = Math.max(1, Math.min(chunk, Math.floor(RUN_BYTES / (4 * vocabulary))));
  const last = tokens.length - 1;
  for (let at = 0; at < last;) {
    signal?.throwIfAborted();
    const part = tokens.subarray(at, Math.min(at + most, last));
    const logits = await session.logits(part, [...part.keys()]);
    for (let i = 0; i < part.length; i++) {
      const row = logits.slice(i * vocabulary, (i + 1) * vocabulary);
      toLogProbabilities(row);
      take(row, tokens[at + i + 1] ?? -1, at + i);
    }
    at += part.length;
    onProgress?.(at, last);
  }
}

/** In place; the largest logit is taken off first, so that no exponential overflows. */
function toLogProbabilities(row: Float32Array): void {
  let largest = -Infinity;
  for (const value of row) if (value > largest) largest = value;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - largest);
  const shift = largest + Math.log(sum);
  if (!Number.isFinite(shift))
    throw new WorkbenchError("RUN_FAILED", "[quality] the logits: got NaN or infinity, expected numbers", {
      hint: "The file may be damaged: rlx check names the tensor.",
    });
  for (let i = 0; i < row.length; i++) row[i] = (row[i] ?? NaN) - shift;
}

/** A token that the reference rules out adds nothing, whatever the other says of it. */
export function divergenceOf(reference: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < reference.length; i++) {
    const p = reference[i] ?? NaN;
    if (p > -Infinity) sum += Math.exp(p) * (p - (other[i] ?? NaN));
  }
  // Rounding of f32 log-probabilities may leave a hair below zero.
  return Math.max(0, sum);
}

function likeliest(row: Float32Array): number {
  let best = 0;
  for (let i = 1; i < row.length; i++) if ((row[i] ?? NaN) > (row[best] ?? NaN)) best = i;
  return best;
}
