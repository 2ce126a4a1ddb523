/**
 * llama.cpp as the outside answer: token ids, logits, greedy text, timings. A process of its own (a bad file can end it)
 * that calls the library of the pinned node-llama-cpp through its C interface (python/llama.py).
 */
import { sharedOracleProcess, startOracleProcess, whyMissing } from "./oracleProcess.ts";
import type { OracleProcess, OracleTensor, OracleValue } from "./oracleProcess.ts";

export const llamaMissing = (): string | undefined => whyMissing("llama");

const ask = (question: string, values: { readonly [name: string]: OracleValue }): Promise<OracleValue> =>
  sharedOracleProcess("llama").ask(`llama.${question}`, values);

/** A process of its own with llama.cpp's build for this instruction set, whatever is best here. */
export const startLlamaOn = (isa: "avx512" | "avx2"): OracleProcess =>
  startOracleProcess({ RLX_LLAMA_CPU: isa === "avx512" ? "skylakex" : "haswell" });

/**
 * The defaults agree best with exact arithmetic: f32 cache, plain attention. One thread: more give the same bits, and in small
 * models they mostly wait for each other.
 */
export interface LlamaOptions {
  readonly cache?: "f32" | "f16" | "q8_0" | "bf16";
  readonly flash?: boolean;
  readonly threads?: number;
  /** false keeps the weights in the file's own layout. */
  readonly repack?: boolean;
  /** Positions in the cache; the default fits the call. */
  readonly capacity?: number;
  /** LoRA adapters: path and scale. */
  readonly adapters?: readonly (readonly [path: string, scale: number])[];
  readonly batch?: number;
  readonly ubatch?: number;
  /** Of an encoder-decoder: the text that the encoder reads. */
  readonly source?: readonly number[];
}
const plain = (options: LlamaOptions | undefined): OracleValue => ({ ...options });

export interface LlamaInfo {
  readonly version: string;
  readonly description: string;
  readonly parameters: number;
  readonly bytes: number;
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly bos: number;
  readonly eos: number;
  readonly eot: number;
  /** -1 where there is none. */
  readonly separator: number;
  readonly addSep: boolean;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly chatTemplate: string | null;
}
export async function llamaInfo(path: string, vocabOnly = false): Promise<LlamaInfo> {
  return (await ask("info", { path, vocab_only: vocabOnly })) as unknown as LlamaInfo;
}

export interface TokenizeOptions {
  /** Add what the file's rules add (BOS, EOS). Default true. */
  readonly addSpecial?: boolean;
  /** Recognise special tokens in the text. Default true. */
  readonly parseSpecial?: boolean;
}
/** Token ids of many texts in one question. Only the vocabulary is loaded. */
export async function llamaTokenize(
  path: string,
  texts: readonly (string | Uint8Array)[],
  { addSpecial = true, parseSpecial = true }: TokenizeOptions = {},
): Promise<Int32Array[]> {
  const answer = await ask("tokenize", { path, texts, add_special: addSpecial, parse_special: parseSpecial });
  return (answer as readonly OracleTensor[]).map(({ data }) => data as Int32Array);
}

/** The bytes of each token. */
export async function llamaPieces(path: string, tokens: readonly number[], special = true): Promise<Uint8Array[]> {
  return (await ask("pieces", { path, tokens, special })) as unknown as Uint8Array[];
}

/** The bytes of a whole sequence. */
export async function llamaDetokenize(
  path: string,
  tokens: readonly number[],
  { removeSpecial = false, unparseSpecial = true } = {},
): Promise<Uint8Array> {
  const answer = await ask("detokenize", {
    path,
    tokens,
    remove_special: removeSpecial,
    unparse_special: unparseSpecial,
  });
  return answer as Uint8Array;
}

export interface Rows<T> {
  /** [tokens, vocabulary] */
  readonly shape: readonly [number, number];
  readonly data: T;
  row(position: number): T;
}

function rows<T extends Float32Array | Float64Array>(answer: OracleValue): Rows<T> {
  const { shape, data } = answer as OracleTensor;
  const width = shape[1] ?? 0;
  return {
    shape: [shape[0] ?? 0, width],
    data: data as T,
    row: (position) => (data as T).subarray(position * width, (position + 1) * width) as T,
  };
}

/** Raw logits at every position. */
export async function llamaLogits(
  path: string,
  tokens: readonly number[],
  options?: LlamaOptions,
): Promise<Rows<Float32Array>> {
  return rows(await ask("logits", { path, tokens, options: plain(options) }));
}

/** Vectors of a text: one for each token, the pooled one, or its scores; not normalised. */
export async function llamaEmbeddings(
  path: string,
  tokens: readonly number[],
  pooling: "none" | "mean" | "cls" | "last" | "rank",
  options?: LlamaOptions,
): Promise<Rows<Float32Array>> {
  return rows(await ask("embed", { path, tokens, pooling, options: plain(options) }));
}

/** Log-probabilities of the vocabulary at every position (float64 softmax of llama.cpp's logits). */
export async function llamaLogprobs(
  path: string,
  tokens: readonly number[],
  options?: LlamaOptions,
  process: OracleProcess = sharedOracleProcess("llama"),
): Promise<Rows<Float64Array>> {
  return rows(await process.ask("llama.logprobs", { path, tokens, options: plain(options) }));
}

/** Greedy continuation; stops after an end-of-generation token unless told otherwise. */
export async function llamaGenerate(
  path: string,
  tokens: readonly number[],
  count: number,
  options?: LlamaOptions & { readonly stopAtEnd?: boolean },
): Promise<Int32Array> {
  const { stopAtEnd = true, ...rest } = options ?? {};
  const answer = await ask("generate", { path, tokens, count, options: plain(rest), stop_at_end: stopAtEnd });
  return (answer as OracleTensor).data as Int32Array;
}

/** What is left of a row of logits after a sampler. */
export interface SamplerLeft {
  readonly ids: Int32Array;
  /** Softmax of what is left, in the order of `ids`. */
  readonly shares: Float64Array;
  /** The index that the sampler chose itself; -1 for none. */
  readonly selected: number;
}

/** One of llama.cpp's samplers, by the name of its function, over rows of logits; before each row it accepts tokens. */
export async function llamaSample(
  kind: string,
  steps: readonly (readonly [accepted: readonly number[], logits: Float32Array])[],
  values: { readonly [name: string]: OracleValue },
  path?: string,
): Promise<SamplerLeft[]> {
  const rows = steps.map(([accepted, logits]): OracleValue => [
    accepted,
    { dtype: "f32", shape: [logits.length], data: logits },
  ]);
  const answer = await ask("sample", { kind, steps: rows, values, ...(path === undefined ? {} : { path }) });
  return (answer as readonly (readonly [OracleTensor, OracleTensor, number])[]).map(([ids, shares, selected]) => ({
    ids: ids.data as Int32Array,
    shares: shares.data as Float64Array,
    selected,
  }));
}

/** For each list of tokens, which tokens a grammar lets come next (0 or 1); null where llama.cpp refuses the grammar. */
export async function llamaGrammarMasks(
  path: string,
  text: string,
  prefixes: readonly (readonly number[])[],
): Promise<Uint8Array[] | null> {
  return (await ask("grammar_masks", { path, text, prefixes })) as unknown as Uint8Array[] | null;
}

/** Seconds of each run after a warm-up; f16 cache and flash attention unless told otherwise. */
export async function llamaBench(
  path: string,
  { prompt = 512, generate = 64, repeats = 3 } = {},
  options?: LlamaOptions,
): Promise<{ readonly promptSeconds: number[]; readonly generateSeconds: number[] }> {
  const answer = await ask("bench", { path, prompt, generate, repeats, options: plain(options) });
  return answer as unknown as { promptSeconds: number[]; generateSeconds: number[] };
}

/** Seconds for as many steps of all sequences together, one token each. */
export async function llamaSequences(
  path: string,
  prompts: readonly (readonly number[])[],
  generate: number,
  options?: LlamaOptions,
): Promise<number> {
  const answer = await ask("sequences", { path, prompts, generate, options: plain(options) });
  return (answer as unknown as { readonly seconds: number }).seconds;
}

/** A fresh load and the first token, inside the running process (no process start in it). */
export async function llamaFirstToken(
  path: string,
  tokens: readonly number[],
  options?: LlamaOptions,
): Promise<{ readonly loadSeconds: number; readonly tokenSeconds: number; readonly token: number }> {
  const answer = await ask("first_token", { path, tokens, options: plain(options) });
  return answer as unknown as { loadSeconds: number; tokenSeconds: number; token: number };
}

/** Frees the models that are kept between questions. */
export async function llamaForget(path?: string): Promise<void> {
  await ask("forget", path === undefined ? {} : { path });
}

/** The tokens after which generation stops. */
export async function llamaEndings(path: string): Promise<number[]> {
  return (await ask("endings", { path })) as number[];
}

/** The tokens that the file wants never to be drawn. */
export async function llamaSuppressed(path: string): Promise<number[]> {
  return (await ask("suppressed", { path })) as number[];
}
