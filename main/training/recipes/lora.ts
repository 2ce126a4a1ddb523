/** LoRA of a model's file on a text or on chats: its weights stay as they lie there, and an adapter beside some matrices is trained. */
import { TARGETS, targetNamed } from "../../formats/tensorBytes.ts";
import { loraTuning } from "../tuning/lora.ts";
import { adapterContents, tunedPlan } from "../tuning/result.ts";
import type { Prepared, Recipe } from "./recipe.ts";
import { numberField } from "./recipe.ts";
import { contextField, DATA, prepareTuning, tensorsField, TUNING } from "./tuned.ts";

const NO_MERGE = "no";

export const loraRecipe: Recipe = {
  id: "lora",
  title: "LoRA",
  about: "Adapts a language model to a text or to chats: its file stays as it is, and a small adapter is written.",
  needs: "model",
  resultEnding: "gguf",
  resultSentence: "An adapter, as a GGUF that opens over the model; or, merged, a model of its own.",
  ...DATA,
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
    tensorsField("the matrices of all layers"),
    contextField,
    {
      ...{ id: "merge", label: "Merge", kind: "choice", value: NO_MERGE, choices: [NO_MERGE, ...TARGETS] },
      about: "The type of a whole model that has the adapter in its weights; no: the adapter alone is written.",
    },
  ],
  defaults: {
    ...TUNING,
    optimizer: { name: "adamw", options: { weightDecay: 0 } },
    lr: 0.001,
  },
  prepare(request): Promise<Prepared> {
    const { fields, seed } = request;
    const [rank, alpha] = [numberField(fields, "rank"), numberField(fields, "alpha")];
    const type = targetNamed(String(fields["merge"]));
    return prepareTuning(
      "lora",
      request,
      (file, sizes) => loraTuning(file, { ...sizes, rank, alpha, seed }),
      (file, tuning, params, name) =>
        type === undefined
          ? { kind: "adapter", contents: adapterContents(file, tuning, params, { name }) }
          : { kind: "model", plan: tunedPlan(file, tuning, params, type) },
    );
  },
};
