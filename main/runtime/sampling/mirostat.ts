/**
 * Mirostat (Basu et al., 2020): the text's surprise, in bits, is kept near a target. Version 1
 * estimates from the most probable tokens how their probabilities fall, and from that how many to
 * keep; version 2 keeps the tokens whose surprise is below `mu`. Both then correct `mu` by how
 * surprising the drawn token was.
 */
import type { Mirostat } from "../../ir/session.ts";
import type { Candidates } from "./candidates.ts";
import { first, sumOf } from "./candidates.ts";

/** Tokens that version 1 estimates from, as in the paper. */
const ESTIMATED = 100;

export function mirostatKept(candidates: Candidates, mirostat: Mirostat, vocabulary: number): Candidates {
  const { mu } = mirostat.state;
  if (mirostat.version === 1) return first(candidates, Math.max(1, keptByEstimate(candidates.weights, mu, vocabulary)));
  const sum = sumOf(candidates.weights);
  const beyond = candidates.weights.findIndex((weight) => -Math.log2(weight / sum) > mu);
  return first(candidates, beyond < 0 ? candidates.ids.length : Math.max(1, beyond));
}

function keptByEstimate(weights: Float64Array, mu: number, vocabulary: number): number {
  let [products, squares] = [0, 0];
  for (let i = 0; i < ESTIMATED - 1 && i < weights.length - 1; i++) {
    const t = Math.log((i + 2) / (i + 1));
    products += t * Math.log((weights[i] ?? 0) / (weights[i + 1] ?? 0));
    squares += t * t;
  }
  if (squares === 0) return weights.length;
  // The exponent of the power law that the probabilities follow.
  const exponent = products / squares;
  const excess = exponent - 1;
  const kept = ((excess * 2 ** mu) / (1 - vocabulary ** -excess)) ** (1 / exponent);
  return Number.isNaN(kept) ? weights.length : Math.floor(Math.min(kept, weights.length));
}

/** `share`: the drawn token's probability among those that were kept. */
export function mirostatObserve({ tau, eta, state }: Mirostat, share: number): void {
  state.mu -= eta * (-Math.log2(share) - tau);
}
