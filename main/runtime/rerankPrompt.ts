/** Query and document as one text, as a reranker reads them: by the file's own template, or with the tokens between two texts. */
import type { Metadata } from "../formats/gguf/metadata.ts";
import type { Steps } from "../ir/steps.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** Where converters put what rerankers such as Qwen3-Reranker are asked, with places for {query} and {document}. */
const TEMPLATE_KEY = "tokenizer.chat_template.rerank";

export interface Pair {
  readonly query: string;
  readonly document: string;
}

/** Both places are filled at once: a query that says "{document}" stays as it is. */
export const filled = (template: string, pair: Pair): string =>
  template.replaceAll(/\{(query|document)\}/gu, (_, name: keyof Pair) => pair[name]);

export function* rerankTokens(metadata: Metadata, tokenizer: Tokenizer, pair: Pair): Steps<Int32Array> {
  const template = metadata.get(TEMPLATE_KEY)?.kind === "string" ? metadata.optionalString(TEMPLATE_KEY) : undefined;
  if (template !== undefined) return yield* tokenizer.encodeSteps(filled(template, pair), { addSpecial: false });
  const plain = { addSpecial: false, parseSpecial: false } as const;
  const query = yield* tokenizer.encodeSteps(pair.query, plain);
  const document = yield* tokenizer.encodeSteps(pair.document, plain);
  const { addBos, addEos, addSep, bos, separator } = tokenizer;
  const end = tokenizer.eos ?? separator;
  const given = (wanted: boolean, id: number | undefined): readonly number[] =>
    wanted && id !== undefined ? [id] : [];
  return Int32Array.from([
    ...given(addBos, bos),
    ...query,
    ...given(addEos, end),
    ...given(addSep, separator),
    ...document,
    ...given(addEos, end),
  ]);
}
