/**
 * What the tests against llama.cpp share: random models on disk, our decoder over them, and log-probabilities of every
 * position to hold side by side.
 */
import { expect } from "vitest";
import { CPU_FUSIONS } from "../backends/cpu/fusions/index.ts";
import { fusionPass } from "../ir/fusion.ts";
import { opTable } from "../ops/index.ts";
import { join } from "node:path";
import { compileNow } from "../compiler/compile.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { Graph } from "../ir/graph.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import type { DecoderModel, DecoderPlanOptions } from "../runtime/decoderModel.ts";
import { openDecoder } from "../runtime/devices/cpu.ts";
import type { DecoderSession } from "../runtime/decoderSession.ts";
import type { FamilySample } from "../models/family.ts";
import type { Rows } from "./llama.ts";
import { TOY_VOCABULARY } from "./toyFiles.ts";
import { writeRandomModel } from "./randomModel.ts";

/** Tokens of a test's prompt. */
export const LENGTH = 64;

export interface MadeModel {
  readonly path: string;
  /** The same weights as f32. */
  readonly exact: string;
}

/** Random models in `folder`, each made once. */
export function modelMaker(
  folder: string,
): (preset: string, type: string, extra?: readonly string[]) => Promise<MadeModel> {
  const made = new Map<string, MadeModel>();
  return async (preset, type, extra = []) => {
    const key = [preset, type, ...extra].join("");
    const known = made.get(key);
    if (known) return known;
    const path = join(folder, `${key}.gguf`);
    const exact = join(folder, `${key}-exact.gguf`);
    await writeRandomModel("--preset", preset, "--type", type, "--out", path, "--exact", exact, ...extra);
    const result = { path, exact };
    made.set(key, result);
    return result;
  };
}

const FUSIONS = CPU_FUSIONS.map((fusion) => fusionPass(opTable, fusion));

/** The engine's own fusions and nothing else of the pipeline. */
export const fused = (graph: Graph): Graph =>
  compileNow(graph, { backend: "cpu", passes: FUSIONS, verify: true }).graph;

export const optimised = (graph: Graph): Graph => compileNow(graph, { backend: "cpu", verify: true }).graph;

export async function withDecoder<T>(
  engine: CpuEngine,
  path: string,
  options: DecoderPlanOptions & { readonly threads?: number },
  work: (decoder: DecoderModel) => Promise<T>,
): Promise<T> {
  const file = await openGguf(await openFileSource(path));
  // Test files run side by side already: two threads each would wait for each other's turn at every barrier.
  const decoder = openDecoder(engine, file, [path], { threads: 1, chunk: LENGTH, ...options });
  try {
    return await work(decoder);
  } finally {
    decoder.dispose();
    await file.close();
  }
}

export const tokensFor = (vocabulary: number, length: number = LENGTH): Int32Array =>
  Int32Array.from({ length }, (_, i) => (i * 7919 + 13) % vocabulary);

/** The text that an encoder reads first; empty for samples of other models. */
export const sourceOf = ({ source = 0 }: FamilySample): readonly number[] =>
  Array.from({ length: source }, (_, i) => (i * 104_729 + 7) % TOY_VOCABULARY);

function logSoftmax(row: Float32Array): Float64Array {
  let largest = -Infinity;
  for (const x of row) largest = Math.max(largest, x);
  let total = 0;
  for (const x of row) total += Math.exp(x - largest);
  const less = largest + Math.log(total);
  const out = new Float64Array(row.length);
  for (let i = 0; i < out.length; i++) out[i] = row[i]! - less;
  return out;
}

/** Log-probabilities of every row, the prompt cut into runs of `chunk`. */
export async function logprobsOf(
  decoder: DecoderModel,
  tokens: Int32Array,
  chunk: number,
  source: readonly number[] = [],
): Promise<Float64Array[]> {
  const session = decoder.open({ context: 2 * tokens.length });
  if (source.length > 0) await session.begin(source);
  const rows = await logprobsIn(session, tokens, chunk);
  session.dispose();
  return rows;
}

/** The same behind what the session already holds. */
export async function logprobsIn(session: DecoderSession, tokens: Int32Array, chunk: number): Promise<Float64Array[]> {
  const rows: Float64Array[] = [];
  for (let at = 0; at < tokens.length; at += chunk) {
    const part = tokens.subarray(at, at + chunk);
    const logits = await session.logits(part, [...part.keys()]);
    const width = logits.length / part.length;
    for (let r = 0; r < part.length; r++) rows.push(logSoftmax(logits.subarray(r * width, (r + 1) * width)));
  }
  return rows;
}

export const worstGap = (a: readonly Float64Array[], row: (t: number) => Float64Array): number =>
  Math.max(...a.map((mine, t) => gapOf(mine, row(t))));

/** NaN where an element is missing, or is one. */
function gapOf(mine: Float64Array, theirs: Float64Array): number {
  let most = 0;
  for (let i = 0; i < mine.length; i++) most = Math.max(most, Math.abs(mine[i]! - (theirs[i] ?? NaN)));
  return most;
}

/** The token that a row puts first; `but` is left out. */
function bestOf(row: Float64Array, but = -1): number {
  let best = but === 0 ? 1 : 0;
  for (let i = best + 1; i < row.length; i++) if (i !== but && row[i]! > row[best]!) best = i;
  return best;
}

/** The same first token at every position where llama.cpp's is ahead of its second by more than 2e-3. */
export function expectSameBest(mine: readonly Float64Array[], theirs: Rows<Float64Array>): void {
  mine.forEach((row, t) => {
    const their = theirs.row(t);
    const best = bestOf(their);
    if (their[best]! - their[bestOf(their, best)]! > 2e-3) expect(bestOf(row), `position ${t}`).toBe(best);
  });
}
