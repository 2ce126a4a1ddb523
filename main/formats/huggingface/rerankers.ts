/**
 * Encoders that score a text, as rerankers do: a head behind the pooled row, which a GGUF calls cls. What the scores mean
 * stands in `id2label`.
 */
import { stringsEntry } from "../gguf/encode.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { bert, modernBert, roberta } from "./encoders.ts";
import { expect } from "./keys.ts";
import type { HfConfig } from "./keys.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

const RANK = 4;

/** Of several scores; the only one of a reranker needs no name. */
function labels({ json }: HfConfig, architecture: string): readonly MetadataEntry[] {
  const names = Object.entries(json.child("id2label").value)
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([, name]) => (typeof name === "string" || typeof name === "number" ? String(name) : ""));
  return names.length < 2 ? [] : [stringsEntry(`${architecture}.classifier.output_labels`, names)];
}

/** The models of a family with a head. */
const scoring = (family: HfFamily, names: readonly string[], head: TensorNames): HfFamily => ({
  architecture: family.architecture,
  names,
  keys: (config) => ({ ...family.keys(config), pooling_type: RANK }),
  lists: (config) => [...(family.lists?.(config) ?? []), ...labels(config, family.architecture)],
  tensors: { ...family.tensors, ...head },
});

const scoringModern = scoring(modernBert, ["ModernBertForSequenceClassification"], {
  "head.dense": "cls",
  "head.norm": "cls.norm",
  classifier: "cls.output",
});

export const RERANKERS: readonly HfFamily[] = [
  scoring(bert, ["BertForSequenceClassification"], { "pooler.dense": "cls", classifier: "cls.output" }),
  scoring(roberta, ["RobertaForSequenceClassification", "XLMRobertaForSequenceClassification"], {
    "classifier.dense": "cls",
    "classifier.out_proj": "cls.output",
  }),
  {
    ...scoringModern,
    keys: (config) => {
      // Which row is scored is not told by a GGUF.
      expect(config, "classifier_pooling", "mean");
      return scoringModern.keys(config);
    },
  },
];
