/** An embedder of an open model: vectors of texts, and documents sorted by a query. */
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import { inSlices } from "../../engine/models/taskCache.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Pooling } from "../../models/family.ts";
import type { EmbedderModel, TextRows } from "../../runtime/embedderModel.ts";
import { cosine, eachNormalised } from "../../runtime/embedderModel.ts";
import { rerankTokens } from "../../runtime/rerankPrompt.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";

export interface EmbedderOptions {
  /** Id of a device; the first of `devices()` without it. */
  readonly device?: string;
  /** As the file says when absent. */
  readonly pooling?: Pooling;
  readonly threads?: number;
  readonly signal?: AbortSignal;
}

export interface EmbedTextOptions {
  /** Vectors of length 1, by default; scores stay as they are. */
  readonly normalise?: boolean;
  readonly signal?: AbortSignal;
}

/** A document by its place in the list that was given. */
export interface RankedDocument {
  readonly document: number;
  readonly score: number;
}

const NEVER = new AbortController().signal;

export class Embedder {
  readonly pooling: Pooling;
  /** What scores are called, of a reranker. */
  readonly labels: readonly string[];
  readonly #model: EmbedderModel;
  readonly #file: GgufFile;
  readonly #tokenizer: Tokenizer;

  constructor(model: EmbedderModel, file: GgufFile, tokenizer: Tokenizer) {
    this.pooling = model.pooling;
    this.labels = model.labels;
    this.#model = model;
    this.#file = file;
    this.#tokenizer = tokenizer;
  }

  /** A vector of each text, or with the pooling "none" one of each token. */
  async embed(texts: readonly string[], options: EmbedTextOptions = {}): Promise<readonly TextRows[]> {
    const { normalise = this.pooling !== "rank", signal = NEVER } = options;
    const made: TextRows[] = [];
    for (const text of texts) {
      throwIfCancelled(signal);
      const tokens = await inSlices(this.#tokenizer.encodeSteps(text), signal);
      const rows = await this.#model.embed(tokens, signal);
      made.push(normalise ? eachNormalised(rows) : rows);
    }
    return made;
  }

  /** The best first: by a reranker's scores, or by the cosines of the vectors. */
  async rerank(
    query: string,
    documents: readonly string[],
    { signal = NEVER }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly RankedDocument[]> {
    if (this.pooling === "none")
      throw new WorkbenchError("INPUT_ARGUMENT", "[rerank] pooling: got none, expected one vector for each text", {
        hint: "Open the embedder with mean, cls or last.",
      });
    const scores =
      this.pooling === "rank" ? this.#scores(query, documents, signal) : this.#cosines(query, documents, signal);
    return (await scores)
      .map((score, document) => ({ document, score }))
      .toSorted((a, b) => b.score - a.score || a.document - b.document);
  }

  async #scores(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    const scores: number[] = [];
    for (const document of documents) {
      const pair = rerankTokens(this.#file.metadata, this.#tokenizer, { query, document });
      const { data } = await this.#model.embed(await inSlices(pair, signal), signal);
      scores.push(data[0] ?? NaN);
    }
    return scores;
  }

  async #cosines(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    const [asked, ...rows] = await this.embed([query, ...documents], { signal });
    return rows.map(({ data }) => (asked === undefined ? NaN : cosine(asked.data, data)));
  }

  /** Gives its plan and weights back; the model stays open. */
  dispose(): void {
    this.#model.dispose();
  }
}
