/** A model that makes vectors of texts: graph and plan made once on a device, each text one run without states. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { Graph } from "../ir/graph.ts";
import type { Disposable } from "../ir/session.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import { requireEmbedder } from "../models/architecture.ts";
import { INPUTS } from "../models/blocks.ts";
import type { Pooling } from "../models/family.ts";
import { EMBEDDING } from "../models/textGraph.ts";
import { requireData } from "./decoderModel.ts";
import type { Device } from "./device.ts";

export interface EmbedderPlanOptions {
  /** As the file says when absent. */
  readonly pooling?: Pooling;
  /** Most tokens of a text; the model's own context when absent. */
  readonly largestText?: number;
  /** What the compiler does to the built graph before it is lowered: passes and legalisation. */
  readonly prepare?: (graph: Graph) => Graph;
}

/** Vectors of a text: one for each token, or one in all. */
export interface TextRows {
  readonly rows: number;
  readonly width: number;
  readonly data: Float32Array;
}

export interface EmbedderModel extends Disposable {
  readonly pooling: Pooling;
  /** What `rank` scores. */
  readonly labels: readonly string[];
  /** Most tokens of a text. */
  readonly largestText: number;
  embed(tokens: Int32Array, signal?: AbortSignal): Promise<TextRows>;
}

/** The pooling that is asked for; a file without a head gives no scores. */
export function poolingOf(file: GgufFile, wanted: Pooling | undefined): Pooling {
  const { pooling, labels } = requireEmbedder(file);
  if ((wanted ?? pooling) !== "rank" || labels.length > 0) return wanted ?? pooling;
  throw new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    `[${file.name}] pooling: got rank, expected a file with a head that scores (cls.weight or cls.output.weight)`,
    { hint: "Use a reranker, or another pooling." },
  );
}

/** The prepared graph of whole texts. */
export function embedderGraph(file: GgufFile, { pooling, largestText, prepare }: EmbedderPlanOptions): Graph {
  const { graph, context } = requireEmbedder(file);
  const built = finish(
    graph(weightSourceOf(file), {
      pooling: poolingOf(file, pooling),
      largestText: Math.max(1, Math.min(largestText ?? context, context)),
    }),
  );
  return prepare === undefined ? built : prepare(built);
}

export function openEmbedder(file: GgufFile, device: Device, options: EmbedderPlanOptions = {}): EmbedderModel {
  const { labels, context } = requireEmbedder(requireData(file));
  const pooling = poolingOf(file, options.pooling);
  const largestText = Math.max(1, Math.min(options.largestText ?? context, context));
  const compiled = device.compile(embedderGraph(file, options));
  const session = compiled.open();
  return {
    pooling,
    labels,
    largestText,
    async embed(tokens, signal) {
      checkLength(file, tokens.length, largestText);
      const inputs = { [INPUTS.tokens]: tokens, [INPUTS.length]: Int32Array.of(tokens.length) };
      const { outputs } = await session.run({ inputs, fetch: [EMBEDDING] }, signal);
      const found = outputs[EMBEDDING];
      if (found === undefined) throw new WorkbenchError("BUG_INVARIANT", "[embed] the graph gave no embedding");
      const [rows = 0, width = 0] = found.shape;
      const { buffer, byteOffset } = found.bytes;
      return { rows, width, data: new Float32Array(buffer, byteOffset, rows * width) };
    },
    dispose() {
      session.dispose();
      compiled.dispose();
    },
  };
}

function checkLength(file: GgufFile, tokens: number, most: number): void {
  if (tokens === 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[embed] ${file.name}: got a text without tokens, expected at least one`,
      {
        hint: "Give a text that is not empty.",
      },
    );
  if (tokens > most)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[embed] ${file.name}: got ${tokens} tokens, expected at most ${most}: the model's context ends there`,
      { hint: "Cut the text into parts." },
    );
}

/** Of length 1; a vector of zeros stays as it is. */
function normalised(row: Float32Array): Float32Array {
  const length = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));
  return length === 0 ? row : row.map((x) => x / length);
}

/** The same of each row. */
export function eachNormalised({ rows, width, data }: TextRows): TextRows {
  const all = new Float32Array(data.length);
  for (let r = 0; r < rows; r++) all.set(normalised(data.subarray(r * width, (r + 1) * width)), r * width);
  return { rows, width, data: all };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/** 0 where one of them is nothing but zeros. */
export const cosine = (a: Float32Array, b: Float32Array): number => dot(normalised(a), normalised(b));

/** Cosines of every vector with every other, [n, n]. */
export function* similarities(rows: readonly Float32Array[]): Steps<Float32Array> {
  const units = rows.map((row) => normalised(row));
  const count = rows.length;
  const all = new Float32Array(count ** 2);
  for (const [i, a] of units.entries()) {
    yield;
    for (const [j, b] of units.slice(0, i + 1).entries()) all[i * count + j] = all[j * count + i] = dot(a, b);
  }
  return all;
}
