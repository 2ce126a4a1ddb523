/**
 * Qwen3-Reranker: a decoder that answers whether a document fits with "yes" or "no". Its config.json is that of a Qwen3; its
 * README.md says what it is. A GGUF has the two rows of the output as a head, and the question as a template.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { stringEntry, stringsEntry } from "../gguf/encode.ts";
import { quote } from "../gguf/header.ts";
import type { NamedTensor } from "../gguf/madeGguf.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import type { Json } from "../json.ts";
import { rowsFrom } from "../tensorBytes.ts";
import type { HfFamily } from "./parts.ts";

const LABELS = ["yes", "no"] as const;
const RANK = 4;
/** As the models were trained with it. */
const QUESTION =
  '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n' +
  "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n" +
  "<|im_start|>assistant\n<think>\n\n</think>\n\n";

interface Described {
  readonly name: string;
  readonly config: Json;
  readonly tokenizer: Json;
  readonly readme: string | undefined;
}

const isReranker = ({ architecture }: HfFamily, { config, readme }: Described): boolean =>
  architecture === "qwen3" &&
  (/^# *qwen3-reranker/imu.test(readme ?? "") || /qwen3-reranker/iu.test(config.text("_name_or_path") ?? ""));

interface Head {
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly NamedTensor[];
}

/** Nothing for other models. */
export function yesOrNo(family: HfFamily, folder: Described, tensors: readonly NamedTensor[]): Head {
  if (!isReranker(family, folder)) return { entries: [], tensors: [] };
  const of = (name: string): NamedTensor | undefined => tensors.find(([tensor]) => tensor === name);
  const [, output] = of("output.weight") ?? of("token_embd.weight") ?? [];
  const vocabulary = folder.tokenizer.child("model").child("vocab");
  const rows = LABELS.map((label) => vocabulary.number(label) ?? -1);
  const [width = 0, count = 0] = output?.dims ?? [];
  if (output === undefined || rows.some((row) => !Number.isInteger(row) || row < 0 || row >= count))
    throw new WorkbenchError(
      "INPUT_TOKENIZER",
      `[${folder.name}] tokenizer.json: got no tokens ${LABELS.map(quote).join(" and ")} of the vocabulary, expected both`,
      { hint: "A Qwen3-Reranker answers with them: download the folder again." },
    );
  return {
    entries: [
      stringsEntry("qwen3.classifier.output_labels", LABELS),
      stringEntry("tokenizer.chat_template.rerank", QUESTION),
    ],
    tensors: [["cls.output.weight", rowsFrom(output, (row) => rows[row] ?? 0, [width, rows.length])]],
  };
}

/** The pooling of a model with such a head. */
export const rankPooling = ({ tensors }: Head): { readonly pooling_type?: number } =>
  tensors.length === 0 ? {} : { pooling_type: RANK };
