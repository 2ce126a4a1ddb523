/** The tokenizer models. A new one is a file beside this one and a line here. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { bytePairs } from "./bpe.ts";
import { plamo2 } from "./plamo2.ts";
import type { TokenizerModel } from "./rules.ts";
import { rwkv } from "./rwkv.ts";
import { sentencePiece } from "./spm.ts";
import { unigram } from "./unigram.ts";
import { wordPiece } from "./wordPiece.ts";

export const TOKENIZER_MODELS: readonly TokenizerModel[] = [sentencePiece, bytePairs, wordPiece, unigram, rwkv, plamo2];

/** The model with this name in `tokenizer.ggml.model`. */
export const tokenizerModel = (name: string, models = TOKENIZER_MODELS): TokenizerModel | undefined =>
  models.find(({ names }) => names.includes(name));

export const unknownModel = (file: string, name: string): WorkbenchError =>
  new WorkbenchError(
    "UNSUPPORTED_TOKENIZER",
    `[${file}] the tokenizer ${JSON.stringify(name.slice(0, 80))} is not supported`,
    {
      hint: `These are: ${TOKENIZER_MODELS.map(({ title, names }) => `${title} (${names.join(", ")})`).join(", ")}. The file can still be inspected, measured and exported.`,
      details: { model: name.slice(0, 80) },
    },
  );
