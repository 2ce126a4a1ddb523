/** Full fine-tuning: the model's own weights learn a text or chats, from what they are or, as a new model, from chance. */
import type { GgufFile } from "../../formats/gguf/file.ts";
import { TARGETS, targetNamed } from "../../formats/tensorBytes.ts";
import { randomOf } from "../data/order.ts";
import type { FullTuning } from "../tuning/full.ts";
import { fullTuning } from "../tuning/full.ts";
import { tunedPlan } from "../tuning/result.ts";
import type { Prepared, Recipe } from "./recipe.ts";
import { contextField, DATA, prepareTuning, tensorsField, TUNING } from "./tuned.ts";

export const fullRecipe: Recipe = {
  id: "full",
  title: "Full fine-tuning",
  about: "Trains the weights of a small language model themselves, all or some, and writes them as a model of its own.",
  needs: "model",
  resultEnding: "gguf",
  resultSentence: "The model with its new weights, as a GGUF.",
  ...DATA,
  fields: [
    tensorsField("all weights"),
    contextField,
    {
      ...{ id: "start", label: "Start", kind: "choice", value: "file", choices: ["file", "random"] },
      about: "From the weights of the file, or from random ones: the same model learns anew.",
    },
    {
      ...{ id: "type", label: "Type", kind: "choice", value: "f16", choices: [...TARGETS] },
      about: "Of the matrices in the file that is written.",
    },
  ],
  defaults: {
    ...TUNING,
    optimizer: { name: "adamw", options: {} },
    lr: 0.0001,
  },
  prepare(request): Promise<Prepared> {
    const { fields, seed } = request;
    return prepareTuning(
      "full",
      request,
      async (file, sizes) => {
        const tuning = await fullTuning(file, sizes);
        return fields["start"] === "random" ? { ...tuning, initial: randomWeights(file, tuning, seed) } : tuning;
      },
      (file, tuning, params) => ({
        kind: "model",
        plan: tunedPlan(file, tuning, params, targetNamed(String(fields["type"])) ?? "f16"),
      }),
    );
  },
};

const RANDOM_STREAM = 0x46554c4c;

/** Matrices that add to the stream of a layer: they begin small, so that depth does not blow it up. */
const ADDS = /(attn_output|ffn_down)\.weight$/u;

/** Norms begin at 1, biases at 0, and matrices by chance with a spread of 1 / √columns. */
function randomWeights(file: GgufFile, { initial }: FullTuning, seed: number): FullTuning["initial"] {
  const random = randomOf(seed, RANDOM_STREAM);
  const layers = 1 + Math.max(0, ...Object.keys(initial).map((name) => Number(/^blk\.(\d+)\./u.exec(name)?.[1] ?? 0)));
  return Object.fromEntries(
    Object.entries(initial).map(([name, { length }]) => {
      const { shape } = file.requireTensor(name);
      if (shape.length < 2) return [name, new Float32Array(length).fill(name.endsWith(".bias") ? 0 : 1)];
      const spread = 1 / Math.sqrt((shape.at(-1) ?? 1) * (ADDS.test(name) ? 2 * layers : 1));
      // Uniform numbers of that deviation: the same on every platform, which logarithms and cosines are not.
      return [name, Float32Array.from({ length }, () => Math.sqrt(3) * spread * (2 * random() - 1))];
    }),
  );
}
