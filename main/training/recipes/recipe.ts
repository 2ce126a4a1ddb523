/**
 * A recipe: what is trained on what. It makes a forward graph whose weights are inputs, their first numbers, the batch of any
 * step, and what is measured on the side; the training itself is the same for all. Everything random in it follows from the seed.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Numbers } from "../../runtime/numbers.ts";
import type { ConvertPlan } from "../../formats/gguf/convert.ts";
import type { GgufContents, TensorToWrite } from "../../formats/gguf/write.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { NpyArray } from "../data/npy.ts";
import type { OptionValue } from "../optimisers/optimizer.ts";
import type { RecipeModel } from "./tuned.ts";

export type Inputs = Readonly<Record<string, Numbers>>;

export interface RecipeField {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly kind: "whole" | "number" | "choice" | "text";
  readonly value: number | string;
  readonly least?: number;
  readonly most?: number;
  readonly choices?: readonly string[];
}

export type FieldValues = Readonly<Record<string, number | string>>;

/** A file that a person gave as data. */
export type RecipeData =
  | { readonly kind: "text"; readonly name: string; readonly text: string }
  | { readonly kind: "arrays"; readonly name: string; readonly arrays: ReadonlyMap<string, NpyArray> };

export interface RecipeRequest {
  readonly fields: FieldValues;
  /** The recipe's own data without it. */
  readonly data?: RecipeData;
  /** With `needs: "model"`: a model's file, or a graph that was opened as text. */
  readonly model?: RecipeModel;
  readonly graph?: Graph;
  readonly batch: number;
  readonly seed: number;
  /** Of the data, for validation; 0: none. */
  readonly share: number;
  /** Lets others have a turn; throws when the work was cancelled. */
  readonly pace: () => Promise<void>;
}

/** A graph over weights and data: its output `loss` is a mean, `correct` the share of right answers where it has answers. */
export interface Validation {
  readonly graph: Graph;
  readonly hasAnswers: boolean;
  /** All of the same size. */
  readonly batches: readonly Inputs[];
}

/** How a model writes: the graph gives `logits` for every place of a window of `length` tokens. */
export interface Writing {
  readonly graph: Graph;
  readonly input: string;
  readonly length: number;
  readonly words: number;
  encode(text: string): Int32Array;
  decode(ids: readonly number[]): string;
}

/** An adapter for the model that was trained over, or a model of its own. */
export type ModelResult =
  | { readonly kind: "adapter"; readonly contents: GgufContents<TensorToWrite> }
  | { readonly kind: "model"; readonly plan: ConvertPlan };

export interface Prepared {
  /** One output, the loss of a batch. */
  readonly forward: Graph;
  readonly trainable: readonly string[];
  readonly initial: Inputs;
  /** All of them; those that are trained are counted by `initial`. */
  readonly parameters: number;
  /** The data in a sentence. */
  readonly data: string;
  /** Of any step, the first is 1. */
  readonly batch: (step: number) => Inputs;
  readonly validation?: Validation;
  readonly writing?: Writing;
  /** Facts of the result, for its file. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The result as a GGUF; without it, it is the weights as safetensors. */
  readonly modelFile?: (params: Readonly<Record<string, HostTensor>>, name: string) => ModelResult;
}

/** What a run is made with where its spec does not say otherwise. */
export interface RecipeDefaults {
  readonly steps: number;
  readonly batch: number;
  readonly optimizer: { readonly name: string; readonly options: Readonly<Record<string, OptionValue>> };
  readonly lr: number;
  readonly schedule: { readonly kind: "constant" | "cosine" | "linear"; readonly warmUp: number };
  readonly clipNorm: number | null;
  readonly validationEvery: number;
  readonly validationShare: number;
  readonly sample: { readonly every: number; readonly prompt: string } | null;
  readonly normsEvery: number;
}

export interface Recipe {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly needs: "nothing" | "model";
  /** Of the file that it writes. */
  readonly resultEnding: "safetensors" | "gguf";
  /** What it is, in a sentence; the trained weights without it. */
  readonly resultSentence?: string;
  readonly dataEndings: readonly string[];
  readonly dataSentence: string | null;
  readonly fields: readonly RecipeField[];
  readonly defaults: RecipeDefaults;
  prepare(request: RecipeRequest): Promise<Prepared>;
}

/** Every field with its value, each in its range. */
export function fieldValues(
  { id, fields }: Pick<Recipe, "id" | "fields">,
  given: Readonly<Record<string, OptionValue>>,
): FieldValues {
  const odd = Object.keys(given).find((name) => !fields.some((field) => field.id === name));
  if (odd !== undefined) {
    const known = fields.map((field) => field.id).join(", ");
    throw new WorkbenchError("INPUT_ARGUMENT", `[train ${id}] field: got ${odd}, expected ${known || "none"}`);
  }
  return Object.fromEntries(
    fields.map((field) => {
      const value = given[field.id] ?? field.value;
      const expected = refusal(field, value);
      if (expected !== undefined)
        throw new WorkbenchError("INPUT_ARGUMENT", `[train ${id}] ${field.id}: got ${value}, expected ${expected}`);
      return [field.id, value as number | string];
    }),
  );
}

function refusal({ kind, least, most, choices = [] }: RecipeField, value: OptionValue): string | undefined {
  if (kind === "text") return typeof value === "string" ? undefined : "text";
  if (kind === "choice") return choices.includes(String(value)) ? undefined : `one of ${choices.join(", ")}`;
  const inside =
    typeof value === "number" &&
    Number.isFinite(value) &&
    (kind === "number" || Number.isInteger(value)) &&
    value >= (least ?? -Infinity) &&
    value <= (most ?? Infinity);
  return inside
    ? undefined
    : `${kind === "whole" ? "a whole number" : "a number"} from ${String(least)} to ${String(most)}`;
}

export const numberField = (values: FieldValues, id: string): number => Number(values[id]);
