/**
 * LoRA: the model's weights stay as they lie in the file, packed ones too, and beside chosen matrices two small ones are
 * trained, A and B: W x becomes W x + (alpha / rank) · B (A x). They go into the graph the way adapters of files do, so every
 * decoder that runs with an adapter can be given one here.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { partShapes, requireNoAdapters } from "../../formats/gguf/adapters.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { weightSourceOf } from "../../formats/gguf/weightSource.ts";
import type { LowRank, WeightSource } from "../../ir/graph.ts";
import { requireReadingDecoder } from "../../models/architecture.ts";
import { seededRandom } from "../../runtime/statistics.ts";
import { sizeOfShape } from "../algebra.ts";
import { adaptable, chosen, isEmbedding, isUsual } from "./names.ts";
import type { Tuning } from "./tuning.ts";
import { windowGraphs } from "./windowGraph.ts";
import type { WindowSizes } from "./windowGraph.ts";

export interface LoraOptions extends WindowSizes {
  /** 8 by default. */
  readonly rank?: number;
  /** What the product is multiplied by, times the rank; twice the rank by default. */
  readonly alpha?: number;
  /** Parts of names, or patterns with `*`; by default the matrices of all layers but routers. */
  readonly tensors?: readonly string[];
  /** For the numbers that A begins with; B begins with zeros. */
  readonly seed?: number;
}

/** A training of adapters, and what their file has to say. */
export interface LoraTuning extends Tuning {
  readonly kind: "lora";
  readonly rank: number;
  readonly alpha: number;
  /** The model's tensors that it changes. */
  readonly tensors: readonly string[];
}

const MOST_RANK = 1024;
const partsOf = (tensor: string): { readonly a: string; readonly b: string } => ({
  a: `${tensor}.lora_a`,
  b: `${tensor}.lora_b`,
});

/** The forward graph, names and first numbers for a `TrainingSession` that trains an adapter of this model. */
export function loraTuning(file: GgufFile, options: LoraOptions): LoraTuning {
  const { rank = 8, alpha = 2 * rank, tensors: patterns, seed = 0 } = options;
  if (!Number.isSafeInteger(rank) || rank < 1 || rank > MOST_RANK) throw wrong("rank", rank, `1 to ${MOST_RANK}`);
  if (!Number.isFinite(alpha) || alpha <= 0) throw wrong("alpha", alpha, "a number above 0");
  requireNoAdapters(file, "training");
  const architecture = requireReadingDecoder(file);
  const stored = weightSourceOf(file);
  const all = adaptable(architecture, stored);
  const asked = chosen(all, patterns, isUsual, "a matrix that an adapter can change");
  const names = asked.flatMap((name) => Object.values(partsOf(name)));
  const { loss, logits, trained } = windowGraphs(architecture, withLora(stored, asked, rank, alpha), names, options);
  const tensors = asked.filter((name) => trained.includes(partsOf(name).a));
  const shapes = tensors.map((name) => ({ name, ...partShapes(name, file.requireTensor(name).shape, rank) }));
  const random = seededRandom(seed);
  const initial = shapes.flatMap(({ name, a, b }): readonly (readonly [string, Float32Array])[] => {
    const parts = partsOf(name);
    // As large as keeps what B is given as large as it was: A of the embedding is picked by rows and not multiplied by.
    const scale = 1 / Math.sqrt(isEmbedding(name) ? rank : (a.at(-1) ?? 1));
    const numbers = Float32Array.from({ length: sizeOfShape(a) }, () => (2 * random() - 1) * scale);
    return [
      [parts.a, numbers],
      [parts.b, new Float32Array(sizeOfShape(b))],
    ];
  });
  return {
    kind: "lora",
    graph: loss,
    logits,
    trainable: initial.map(([name]) => name),
    initial: Object.fromEntries(initial),
    ...{ rank, alpha, tensors, context: options.context, batch: options.batch },
  };
}

const wrong = (what: string, got: number, expected: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[lora] ${what}: got ${got}, expected ${expected}`);

/** The model's weights with parameters of its own beside some of them. */
function withLora(stored: WeightSource, tensors: readonly string[], rank: number, alpha: number): WeightSource {
  const changed = new Set(tensors);
  const parts = new Set(tensors.flatMap((name) => Object.values(partsOf(name))));
  const own: LowRank = {
    rankOf: (tensor) => (changed.has(tensor) ? rank : undefined),
    factor: () => alpha / rank,
    parts: partsOf,
  };
  return {
    ...stored,
    has: (name) => parts.has(name) || stored.has(name),
    tensorType: (name, shape = []) => (parts.has(name) ? { dtype: "f32", shape } : stored.tensorType(name, shape)),
    adapters: [...(stored.adapters ?? []), own],
  };
}
