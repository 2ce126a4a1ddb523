/**
 * LoRA of a model's file on a text or on chats: its weights stay as they lie there, and an adapter beside some matrices is trained.
 * Of a chat only what the assistant says is learned. Tokens and the chat's form come from the model's own tokenizer and template.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { readChats } from "../data/chat.ts";
import type { Conversation } from "../data/chat.ts";
import { batches, heldOut } from "../data/order.ts";
import { loraTuning } from "../tuning/lora.ts";
import { adapterContents } from "../tuning/result.ts";
import type { TokenWindow } from "../tuning/tuning.ts";
import { batchOf } from "../tuning/tuning.ts";
import type { FieldValues, Inputs, Prepared, Recipe, RecipeData } from "./recipe.ts";
import { numberField } from "./recipe.ts";
import { taleText } from "./tale.ts";

/** A model as this recipe needs it. */
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

/** "attn_q, attn_v" as patterns; the usual matrices without any. */
function patternsOf(fields: FieldValues): readonly string[] | undefined {
  const patterns = String(fields["tensors"] ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return patterns.length === 0 ? undefined : patterns;
}

export const loraRecipe: Recipe = {
  id: "lora",
  title: "LoRA",
  about: "Adapts a language model to a text or to chats: its file stays as it is, and a small adapter is written.",
  needs: "model",
  resultEnding: "gguf",
  dataEndings: ["txt", "md", "jsonl"],
  dataSentence: "A text in UTF-8, or chats as JSON Lines. Without one, small tales that are put together by seed.",
  fields: [
    { id: "rank", label: "Rank", about: "Of the two small matrices.", kind: "whole", value: 8, least: 1, most: 1024 },
    {
      id: "alpha",
      label: "Alpha",
      about: "What is added counts alpha / rank.",
      kind: "number",
      value: 16,
      least: 0.001,
      most: 100_000,
    },
    {
      id: "tensors",
      label: "Tensors",
      about: "Parts of names with commas between, as attn_q, attn_v; the matrices of all layers without any.",
      kind: "text",
      value: "",
    },
    {
      id: "context",
      label: "Context",
      about: "Tokens of an example.",
      kind: "whole",
      value: 64,
      least: 2,
      most: 8192,
    },
  ],
  defaults: {
    steps: 100,
    batch: 4,
    optimizer: { name: "adamw", options: { weightDecay: 0 } },
    lr: 0.001,
    schedule: { kind: "cosine", warmUp: 5 },
    clipNorm: 1,
    validationEvery: 20,
    validationShare: 0.1,
    sample: { every: 50, prompt: "Once upon a time" },
    normsEvery: 10,
  },
  async prepare({ fields, data, model, batch, seed, share, pace }): Promise<Prepared> {
    if (model === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", "[train lora] model: got none, expected the one that is adapted", {
        hint: "Name a GGUF file: rlx train lora --model model.gguf.",
      });
    const [context, rank, alpha] = [
      numberField(fields, "context"),
      numberField(fields, "rank"),
      numberField(fields, "alpha"),
    ];
    const windows = await windowsOf(model, data, { context, seed, pace });
    const kept = heldOut(windows.length, share);
    const learned = windows.slice(0, windows.length - kept);
    if (learned.length === 0)
      throw new WorkbenchError("INPUT_ARGUMENT", "[train lora] data: got no token to learn, expected a text or chats");
    const tensors = patternsOf(fields);
    await pace();
    const tuning = loraTuning(model.file, {
      ...{ context, batch, rank, alpha, seed },
      ...(tensors === undefined ? {} : { tensors }),
    });
    await pace();
    const inputsOf = (own: readonly TokenWindow[]): Inputs => ({ ...batchOf(tuning, own) });
    const take = batches(learned.length, Math.min(batch, learned.length), seed);
    const held = windows.slice(windows.length - kept);
    const added = Object.values(tuning.initial).reduce((sum, { length }) => sum + length, 0);
    return {
      forward: tuning.graph,
      trainable: tuning.trainable,
      initial: tuning.initial,
      parameters: model.file.tensors.reduce((sum, { elements }) => sum + elements, 0) + added,
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
      adapter: (params, name) => adapterContents(model.file, tuning, params, { name }),
    };
  },
};

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
