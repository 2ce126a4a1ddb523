/**
 * What recipes over a model's file share: its data as windows of tokens, and a run of what is tuned. Of a chat only what the
 * assistant says is learned. Tokens and the chat's form come from the model's own tokenizer and template.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { readChats } from "../data/chat.ts";
import type { Conversation } from "../data/chat.ts";
import { batches, heldOut } from "../data/order.ts";
import type { TrainedNumbers } from "../tuning/result.ts";
import type { TokenWindow, Tuning } from "../tuning/tuning.ts";
import { batchOf } from "../tuning/tuning.ts";
import type { FieldValues, Inputs, ModelResult, Prepared, RecipeData, RecipeField, RecipeRequest } from "./recipe.ts";
import { numberField } from "./recipe.ts";
import { taleText } from "./tale.ts";

/** Examples are windows of this many tokens. */
export const contextField: RecipeField = {
  ...{ id: "context", label: "Context", about: "Tokens of an example.", kind: "whole" },
  ...{ value: 64, least: 2, most: 8192 },
};

/** Which weights are meant, as parts of names; `otherwise` says which without any. */
export const tensorsField = (otherwise: string): RecipeField => ({
  ...{ id: "tensors", label: "Tensors", kind: "text", value: "" },
  about: `Parts of names with commas between, as attn_q, attn_v; ${otherwise} without any.`,
});

export const DATA = {
  dataEndings: ["txt", "md", "jsonl"],
  dataSentence: "A text in UTF-8, or chats as JSON Lines. Without one, small tales that are put together by seed.",
} as const;

/** Steps few and small: the model knows most already. */
export const TUNING = {
  steps: 100,
  batch: 4,
  schedule: { kind: "cosine", warmUp: 5 },
  clipNorm: 1,
  validationEvery: 20,
  validationShare: 0.1,
  sample: { every: 50, prompt: "Once upon a time" },
  normsEvery: 10,
} as const;

/** A model as a recipe needs it. */
export interface RecipeModel {
  readonly file: GgufFile;
  readonly title: string;
  /** Tokens of a whole text. */
  tokens(text: string): Promise<Int32Array>;
  /** A conversation in the model's form, and which tokens the assistant says. */
  chat(conversation: Conversation): Promise<TokenWindow>;
  encode(text: string): Int32Array;
  decode(ids: readonly number[]): string;
}

const CHAT_FILE = /\.jsonl$/iu;

async function windowsOf(
  model: RecipeModel,
  data: RecipeData | undefined,
  { context, seed, pace }: { readonly context: number; readonly seed: number; readonly pace: () => Promise<void> },
): Promise<readonly TokenWindow[]> {
  if (data !== undefined && data.kind !== "text")
    throw new WorkbenchError("INPUT_ARGUMENT", `[${data.name}] got arrays, expected a text or chats`);
  if (data === undefined || !CHAT_FILE.test(data.name)) {
    const tokens = await model.tokens(data?.text ?? taleText(seed));
    return cut({ tokens }, context);
  }
  const all: TokenWindow[] = [];
  for (const conversation of readChats(data.name, data.text)) {
    all.push(...cut(await model.chat(conversation), context));
    await pace();
  }
  // A window of a prompt alone teaches nothing.
  return all.filter(({ learned }) => learned === undefined || Array.from(learned).some(Boolean));
}

/** Windows behind each other; the last token of one is the first of the next. */
function cut({ tokens, learned }: TokenWindow, context: number): readonly TokenWindow[] {
  const [ids, own] = [Array.from(tokens), learned === undefined ? undefined : Array.from(learned)];
  const windows: TokenWindow[] = [];
  for (let at = 0; at + 1 < ids.length; at += context) {
    const end = at + context + 1;
    windows.push({ tokens: ids.slice(at, end), ...(own === undefined ? {} : { learned: own.slice(at, end) }) });
  }
  return windows;
}

/** "attn_q, attn_v" as patterns; the usual ones without any. */
function patternsOf(fields: FieldValues): { readonly tensors?: readonly string[] } {
  const patterns = String(fields["tensors"] ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return patterns.length === 0 ? {} : { tensors: patterns };
}

/** What `make` is told: sizes of a window, and which tensors. */
export interface TuningSizes {
  readonly context: number;
  readonly batch: number;
  readonly tensors?: readonly string[];
}

/** Reads the data as windows, and makes a run of the tuning. */
export async function prepareTuning<T extends Tuning>(
  id: string,
  { fields, data, model, graph, batch, seed, share, pace }: RecipeRequest,
  make: (file: GgufFile, sizes: TuningSizes) => T | Promise<T>,
  result: (file: GgufFile, tuning: T, params: TrainedNumbers, name: string) => ModelResult,
): Promise<Prepared> {
  if (model === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[train ${id}] model: got ${graph === undefined ? "none" : "a graph in text"}, expected the one that is trained`,
      {
        hint: `Name a GGUF file: rlx train ${id} --model model.gguf.`,
      },
    );
  const context = numberField(fields, "context");
  const windows = await windowsOf(model, data, { context, seed, pace });
  const kept = heldOut(windows.length, share);
  const learned = windows.slice(0, windows.length - kept);
  if (learned.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[train ${id}] data: got no token to learn, expected a text or chats`);
  await pace();
  const tuning = await make(model.file, { context, batch, ...patternsOf(fields) });
  await pace();
  const inputsOf = (own: readonly TokenWindow[]): Inputs => ({ ...batchOf(tuning, own) });
  const take = batches(learned.length, Math.min(batch, learned.length), seed);
  const held = windows.slice(windows.length - kept);
  const trained = Object.values(tuning.initial).reduce((sum, { length }) => sum + length, 0);
  const stored = model.file.tensors.reduce((sum, { elements }) => sum + elements, 0);
  return {
    forward: tuning.graph,
    trainable: tuning.trainable,
    initial: tuning.initial,
    parameters: tuning.kind === "lora" ? stored + trained : stored,
    data: `${windows.length} windows of ${context} tokens${kept === 0 ? "" : `, ${kept} of them for validation`}`,
    batch: (step) => inputsOf(take(step).flatMap((at) => learned[at] ?? [])),
    ...(kept === 0
      ? {}
      : { validation: { graph: tuning.graph, hasAnswers: false, batches: inRuns(held, batch).map(inputsOf) } }),
    writing: {
      graph: tuning.logits,
      input: "tokens",
      length: context,
      words: vocabularyOf(tuning.logits),
      encode: (text) => model.encode(text),
      decode: (ids) => model.decode(ids),
    },
    metadata: {},
    modelFile: (params, name) => result(model.file, tuning, params, name),
  };
}

function vocabularyOf({ nodes, outputs }: Prepared["forward"]): number {
  const [output] = outputs;
  const size = output && nodes[output.value.node]?.outputs[output.value.output]?.shape.at(-1);
  return typeof size === "number" ? size : 0;
}

const MOST_RUNS = 16;

/** The last run may be smaller: its graph takes fewer windows than it has places for. */
const inRuns = (windows: readonly TokenWindow[], size: number): readonly (readonly TokenWindow[])[] =>
  Array.from({ length: Math.min(MOST_RUNS, Math.ceil(windows.length / size)) }, (_, i) =>
    windows.slice(i * size, (i + 1) * size),
  );
