/**
 * A decoder's session in tokens: which tokens its states hold, feeding more (in chunks), one step with a sampled token,
 * scoring, and going back. The session counts only what a finished run has written: after a cancel or an error it is as
 * it was. How it goes back depends on the states (`Rewind`): caches simply forget, rings as far as they can; other states
 * are put back from a checkpoint, or start over, and the tokens behind that run again before the next run. Over 500 lines:
 * what the states hold, and how far they were written, is read and changed by every way to run and to go back.
 */
import type {
  Disposable,
  GraphSession,
  SampledToken,
  SampleOptions,
  Series,
  TokenResult,
  TokenRun,
  TokenRunner,
} from "../ir/session.ts";
import { toWireError, WorkbenchError } from "../diagnostics/errors.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";
import type { Rewind, Ring } from "../ir/rewind.ts";
import type { PromptPace } from "./promptPace.ts";
import type { DrawOptions, DrawSteps } from "./tokenStream.ts";
import { TokenStream } from "./tokenStream.ts";
import { takesAllSteps, tokensOf } from "./tokenRuns.ts";
import type { SourceReader, SourceText } from "./sourceText.ts";
import { checkText, nothingRead } from "./sourceText.ts";

export interface DecoderFacts {
  readonly capacity: number;
  readonly vocabulary: number;
  /** Most tokens of one run. */
  readonly chunk: number;
  /** Of all sessions of the decoder: how many tokens of a prompt run at once. Absent: `chunk`. */
  readonly pace?: PromptPace;
  /** How its states can be taken back. */
  readonly rewind: Rewind;
  /** What its rings can do, where it has some. */
  readonly ring?: Ring | undefined;
  /** Of an encoder-decoder: its steps need a text that was read. */
  readonly reader?: SourceReader | undefined;
}

/** What a session begins with. */
interface SessionStart {
  readonly tokens: readonly number[];
  /** See `DecoderSession.#written`. */
  readonly written: number;
  readonly checkpoints: readonly Checkpoint[];
  readonly source: SourceText | undefined;
}

/** A copy of the states as they were after so many tokens. */
export interface Checkpoint {
  readonly past: number;
  /** Positions that its rings had written, where that is known: it serves fewer tokens too, as far as those go back. */
  readonly written?: number;
  readonly states: Uint8Array<ArrayBuffer>;
}

/** Checkpoints that a session keeps: the latest turns of a conversation; of rings, which are large, the latest one. */
const MOST_CHECKPOINTS = 4;
const MOST_RING_CHECKPOINTS = 1;

export interface FeedOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (done: number, total: number) => void;
  /** Draw a token after the last one. */
  readonly sample?: SampleOptions;
  /** Outputs of the graph that are wanted of each run, and what takes them. */
  readonly outputs?: { readonly names: readonly string[]; readonly take: (of: TokenResult["outputs"]) => void };
  /** False for a part of a prompt that more of it follows: no checkpoint before its last token. */
  readonly checkpoint?: boolean;
  /** Called with each run's profile: for the profiler. */
  readonly onRun?: (tokens: number, result: TokenResult) => void;
}

interface Want {
  readonly rows: Int32Array;
  readonly sample?: SampleOptions;
  readonly series?: Series;
  readonly score?: Int32Array;
  readonly fetch?: readonly string[];
}

/** Why tokens that a session holds run again, by how its states go back. */
export const WHY_AGAIN: Readonly<Record<Exclude<Rewind, "positions">, string>> = {
  ring: "layers with a window keep the newest positions only",
  checkpoint: "a recurrent state goes back to its checkpoints only",
  none: "the model's states cannot go back",
};

const NO_ROWS = new Int32Array(0);
const NO_TOKENS = new Int32Array(0);
const ONLY_ROW = Int32Array.of(0);

/** Logits of a scoring run stay below this. */
const SCORE_BYTES = 64 << 20;

export class DecoderSession implements Disposable {
  readonly facts: DecoderFacts;
  readonly #session: GraphSession;
  readonly #runner: TokenRunner;
  #tokens: number[] = [];
  /** Tokens that the states have read, or undefined after a run that did not finish. Caches do not need it. */
  #read: number | undefined;
  /** Of rings: positions that were written since they began anew. What lies `rows` before that is gone. */
  #written: number;
  /** Oldest first; each is of a beginning of the session's tokens, or serves one. */
  #checkpoints: readonly Checkpoint[];
  /** What the encoder has read, for decoders that have one. */
  #source: SourceText | undefined;

  constructor(
    session: GraphSession,
    facts: DecoderFacts,
    { tokens, written, checkpoints, source }: SessionStart = {
      tokens: [],
      written: 0,
      checkpoints: [],
      source: undefined,
    },
  ) {
    this.#session = session;
    this.#runner = tokensOf(session);
    this.facts = facts;
    this.#tokens = [...tokens];
    this.#read = tokens.length;
    this.#written = written;
    this.#checkpoints = checkpoints;
    this.#source = source;
  }

  get threads(): number {
    return this.#session.threads;
  }
  /** Tokens whose keys and values the cache holds, oldest first. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }
  get past(): number {
    return this.#tokens.length;
  }
  /** Bytes that these tokens take in the cache. */
  get cacheBytes(): number {
    return this.#session.bytes(this.past).used;
  }

  /** The same of a full context. */
  get largestCacheBytes(): number {
    return this.#session.bytes(this.facts.capacity).used;
  }
  /** Copies that it can go back to, oldest first. */
  get checkpoints(): readonly Checkpoint[] {
    return this.#checkpoints;
  }
  /** Bytes of such a copy behind so many tokens. */
  checkpointBytes(past: number): number {
    return this.#session.bytes(this.#session.checkpoints === undefined ? past : 0).used;
  }
  /** Bytes that `save` gives of so many tokens, behind a text of so many. */
  savedBytes(tokens: number, text = 0): number {
    const head = this.facts.reader === undefined ? 0 : 1 + text;
    return 4 * (head + (this.facts.rewind === "ring" ? 1 : 0) + 1 + tokens) + this.#session.bytes(tokens).used;
  }
  /** Tokens of a prompt that run at once now. */
  get chunk(): number {
    return this.facts.pace?.chunk ?? this.facts.chunk;
  }

  /** Tokens of the text that an encoder has read; undefined where there is none. */
  get source(): Int32Array | undefined {
    return this.#source?.tokens;
  }

  /**
   * Tokens to feed for a prompt: the prompt. An encoder reads it, unless it has read the same already; then the decoder
   * begins with its first token, and what the session held behind another text is forgotten.
   */
  async begin(prompt: ArrayLike<number>, signal?: AbortSignal): Promise<ArrayLike<number>> {
    const { reader } = this.facts;
    if (reader === undefined) return prompt;
    const source = await this.#sourceOf(reader, prompt, signal);
    if (source !== this.#source) this.truncate(0);
    this.#source = source;
    return [reader.start];
  }

  /** What the encoder gives for a text: what there is, or read now. */
  async #sourceOf(reader: SourceReader, text: ArrayLike<number>, signal?: AbortSignal): Promise<SourceText> {
    if (this.#source !== undefined && this.hasRead(text)) return this.#source;
    checkText(text, reader.largestText);
    this.#checkVocabulary(text);
    const tokens = Int32Array.from(text);
    return { tokens, inputs: await reader.read(tokens, signal) };
  }

  /** The encoder has then read nothing: for benchmarks. */
  forgetText(): void {
    this.truncate(0);
    this.#source = undefined;
  }

  /** True if the text is the one that the encoder has read. */
  hasRead(text: ArrayLike<number>): boolean {
    const read = this.#source?.tokens;
    return read?.length === text.length && read.every((token, i) => token === text[i]);
  }

  /** Appends tokens; answers the token that was drawn after the last, when one was asked for. */
  async feed(tokens: ArrayLike<number>, options: FeedOptions = {}): Promise<SampledToken | undefined> {
    this.#check(tokens);
    await this.#catchUp(options.signal);
    // A checkpoint before the last token serves both the same prompt again and one that goes on from it.
    const { checkpoint = true } = options;
    const keeps = checkpoint && tokens.length > 1 && this.#isWorthCopying(this.past + tokens.length);
    const checkpointAt = keeps ? tokens.length - 1 : undefined;
    let sampled: SampledToken | undefined;
    for (let at = 0; at < tokens.length;) {
      if (at === checkpointAt) await this.#keepCheckpoint();
      const end = checkpointAt !== undefined && at < checkpointAt ? checkpointAt : tokens.length;
      const count = Math.min(this.chunk, end - at);
      const part = Int32Array.from({ length: count }, (_, i) => tokens[at + i] ?? 0);
      at += count;
      const last = at === tokens.length;
      const drawn =
        last && options.sample ? { rows: Int32Array.of(count - 1), sample: options.sample } : { rows: NO_ROWS };
      const fetch = options.outputs === undefined ? {} : { fetch: options.outputs.names };
      const result = await this.#run(part, { ...drawn, ...fetch }, options);
      this.facts.pace?.took(count, result.seconds);
      sampled = result.sampled;
      options.outputs?.take(result.outputs);
      options.onProgress?.(at, tokens.length);
    }
    return sampled;
  }

  /**
   * Draws up to `count` tokens, starting after `first`, until the context is full. When the loop
   * ends, the session holds `first` and every token given out except the last.
   */
  draw(first: number, options: DrawOptions): TokenStream {
    const count = Math.min(options.count, this.facts.capacity - this.past);
    if (count > 0) this.#check([first]);
    const { past } = this;
    const endings = options.endings ?? NO_TOKENS;
    // A run that was asked for ahead may be in vain: caches forget what it wrote, other states would have to run again.
    // A chain that the engine does not take needs each token here before the next.
    const ahead = this.#forgets && this.holds(past) && takesAllSteps(this.#runner, options.sampling([first], 0));
    const steps: DrawSteps = {
      follows: ahead && this.#runner.follows,
      series: ahead && this.#runner.series,
      submit: async ({ at, count: drawn, token, sample }, signal) => {
        if (!ahead && at === 0) await this.#catchUp(signal);
        const series = { count: drawn, token: INPUTS.tokens, position: INPUTS.past, endings };
        const want = { rows: ONLY_ROW, sample, ...(ahead && this.#runner.series ? { series } : {}) };
        return this.#submit(token === "ahead" ? undefined : Int32Array.of(token), past + at, want, signal);
      },
      commit: (token) => this.#tokens.push(token),
      ended: this.facts.pace?.generates() ?? ((): void => undefined),
    };
    return new TokenStream(first, steps, { ...options, count });
  }

  /**
   * Log-probabilities of `tokens`, each given what stands before it; the first of an empty session has none (NaN).
   * The session then holds them.
   */
  async score(tokens: ArrayLike<number>, options: FeedOptions = {}): Promise<Float32Array> {
    this.#check(tokens);
    await this.#catchUp(options.signal);
    const logprobs = new Float32Array(tokens.length).fill(NaN);
    const rows = Math.max(1, Math.min(this.facts.chunk, Math.floor(SCORE_BYTES / (4 * this.facts.vocabulary))));
    for (let at = 0; at < tokens.length;) {
      const count = Math.min(rows, tokens.length - at);
      const part = Int32Array.from({ length: count }, (_, i) => tokens[at + i] ?? 0);
      // Row i predicts the token after it; the last token of all predicts nothing that is known.
      const targets = Int32Array.from({ length: count }, (_, i) => tokens[at + i + 1] ?? -1);
      const result = await this.#run(part, { rows: part.map((_, i) => i), score: targets }, options);
      const known = result.scored?.logprobs ?? new Float32Array(0);
      for (let i = 0; i < count && at + i + 1 < tokens.length; i++) logprobs[at + i + 1] = known[i] ?? NaN;
      at += count;
      options.onProgress?.(at, tokens.length);
    }
    return logprobs;
  }

  /** Raw logits [rows, vocabulary] of the wanted rows of these tokens: for tests and comparisons. */
  async logits(tokens: ArrayLike<number>, rows: readonly number[]): Promise<Float32Array> {
    this.#check(tokens);
    if (tokens.length > this.facts.chunk)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[decoder] logits of ${tokens.length} tokens: at most ${this.facts.chunk} at once`,
      );
    await this.#catchUp();
    const result = await this.#run(
      Int32Array.from({ length: tokens.length }, (_, i) => tokens[i] ?? 0),
      { rows: Int32Array.from(rows), fetch: [LOGITS] },
      {},
    );
    return new Float32Array(result.outputs[LOGITS]?.bytes.buffer ?? new ArrayBuffer(0));
  }

  /** Forgets all but the first `count` tokens. */
  truncate(count: number): void {
    if (!Number.isInteger(count) || count < 0 || count > this.past)
      throw new WorkbenchError("INPUT_ARGUMENT", `[decoder] truncate: got ${count}, expected 0 to ${this.past}`);
    this.#tokens.length = count;
    this.#checkpoints = this.#checkpoints.flatMap((checkpoint) => {
      const past = this.#servedBy(checkpoint, count);
      return past === undefined ? [] : [past === checkpoint.past ? checkpoint : { ...checkpoint, past }];
    });
  }

  /**
   * Keeps the longest beginning that the states can be taken back to and that `tokens` shares, and forgets the rest. At
   * least one token is always left to run, because only a run gives logits. Answers how many were kept.
   */
  reuse(tokens: ArrayLike<number>): number {
    const kept = this.#reachable(this.shared(tokens));
    this.truncate(kept);
    return kept;
  }

  /** The longest beginning that `tokens` shares with the session's, but for the last token, which has to run. */
  shared(tokens: ArrayLike<number>): number {
    let common = 0;
    while (common < this.past && common < tokens.length && this.#tokens[common] === tokens[common]) common++;
    return Math.max(0, Math.min(common, tokens.length - 1));
  }

  /** True where nothing has to run again for the states to be those of the first `count` tokens. */
  holds(count: number): boolean {
    const { rewind, ring } = this.facts;
    if (rewind === "positions") return true;
    if (rewind !== "ring" || ring === undefined) return count === this.#read;
    return reaches(ring, this.#written, count);
  }

  async fork(): Promise<DecoderSession> {
    await this.#current("fork");
    const fork = await this.#session.fork(this.past);
    return new DecoderSession(fork, this.facts, {
      tokens: this.#tokens,
      written: this.#written,
      checkpoints: this.#checkpoints,
      source: this.#source,
    });
  }

  /**
   * Tokens and cache as bytes: a count, the tokens, the states. Behind an encoder, the text comes before them, in the same form;
   * with rings, how far they were written.
   */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    await this.#current("save");
    const states = await this.#session.save(this.past);
    const source = this.facts.reader === undefined ? [] : [this.#source?.tokens.length ?? 0, ...(this.source ?? [])];
    const head = Int32Array.from([...source, ...this.#writtenAhead(), this.past, ...this.#tokens]);
    const saved = new Uint8Array(head.byteLength + states.byteLength);
    saved.set(new Uint8Array(head.buffer), 0);
    saved.set(states, head.byteLength);
    return saved;
  }

  /** A text that an encoder had read is read again. `checkpoints`: those that the saved session had. */
  async restore(saved: Uint8Array, signal?: AbortSignal, checkpoints: readonly Checkpoint[] = []): Promise<void> {
    const aligned = saved.slice();
    const numbers = new Int32Array(aligned.buffer, 0, Math.floor(aligned.byteLength / 4));
    const { reader, capacity } = this.facts;
    const text = reader === undefined ? NO_TOKENS : countedTokens(numbers, 0, reader.largestText);
    const begin = reader === undefined ? 0 : text.length + 1;
    const [written] = this.facts.rewind === "ring" ? numbers.subarray(begin, begin + 1) : [];
    const counted = begin + (written === undefined ? 0 : 1);
    const tokens = countedTokens(numbers, counted, capacity);
    const past = tokens.length;
    const states = aligned.subarray(4 * (counted + past + 1));
    const source = reader && text.length > 0 ? await this.#sourceOf(reader, text, signal) : undefined;
    const putBack = (): Promise<void> => this.#session.restore(past, states);
    await putBack().catch(async (error: unknown) => {
      // A failed run may have lost caches, which a restore of no positions leaves as they are.
      if (past > 0 || toWireError(error).code !== "RUN_FAILED") throw error;
      await this.#session.reset();
      await putBack();
    });
    this.#source = source;
    this.#read = past;
    this.#written = Math.max(past, written ?? 0);
    this.#checkpoints = checkpoints;
    this.#tokens = Array.from(tokens);
  }

  dispose(): void {
    this.#session.dispose();
  }

  /** The longest beginning of at most `count` tokens that needs no token to run again. */
  #reachable(count: number): number {
    if (this.holds(count)) return count;
    return Math.max(0, ...this.#checkpoints.map((checkpoint) => this.#servedBy(checkpoint, count) ?? 0));
  }

  /** Of the first `count` tokens, those that the states of a checkpoint are of once they are put back. */
  #servedBy({ past, written }: Checkpoint, count: number): number | undefined {
    const { rewind, ring } = this.facts;
    if (past <= count) return past;
    const goesBack = rewind === "ring" && ring !== undefined && written !== undefined && reaches(ring, written, count);
    return goesBack ? count : undefined;
  }

  /** Caches and rings forget what stands behind a position by themselves. */
  get #forgets(): boolean {
    return this.facts.rewind === "positions" || this.facts.rewind === "ring";
  }

  /** Of rings: how far they were written, as a copy of the session's tokens has to know it. */
  #writtenAhead(): readonly number[] {
    const { rewind, ring } = this.facts;
    if (rewind !== "ring") return [];
    return [ring === undefined || this.#written <= ring.rows ? this.past : this.#written];
  }

  /** What rings that were put back count as written where that is not known: they go back no further. */
  #writtenOf(past: number): number {
    return past + (this.facts.ring?.spare ?? 0);
  }

  /** A copy is of use for states that do not forget; of rings that can lose what more tokens have seen than soon run again. */
  #isWorthCopying(past: number): boolean {
    const { rewind, ring, capacity } = this.facts;
    if (rewind !== "ring" || ring === undefined) return rewind === "checkpoint";
    return capacity > ring.rows && past > ring.rows - ring.spare;
  }

  /** The states as they are after the session's tokens, for what copies them. */
  async #current(what: string): Promise<void> {
    if (this.facts.rewind === "none")
      throw new WorkbenchError(
        "UNSUPPORTED_TARGET",
        `[decoder] ${what}: got a model whose states cannot be copied, expected caches or states with checkpoints`,
        { hint: "Run its tokens again in a new session." },
      );
    await this.#catchUp();
  }

  async #keepCheckpoint(): Promise<void> {
    const { past } = this;
    const others = this.#checkpoints.filter((checkpoint) => checkpoint.past !== past);
    const states = await (this.#session.checkpoints?.take() ?? this.#session.save(past));
    const [most, written] =
      this.facts.rewind === "ring" ? [MOST_RING_CHECKPOINTS, { written: this.#written }] : [MOST_CHECKPOINTS, {}];
    this.#checkpoints = [...others, { past, ...written, states }].slice(-most);
  }

  /** Brings states that are not caches to the session's tokens: from the last checkpoint, or from nothing. */
  async #catchUp(signal?: AbortSignal): Promise<void> {
    if (this.holds(this.past)) return;
    const checkpoint = this.facts.rewind === "none" ? undefined : this.#checkpoints.at(-1);
    this.#read = undefined;
    const from = await this.#goBack(checkpoint);
    this.#read = from;
    for (let at = from; at < this.past; at += this.facts.chunk)
      await this.#submit(Int32Array.from(this.#tokens.slice(at, at + this.facts.chunk)), at, { rows: NO_ROWS }, signal);
  }

  /** Where the states then are: behind the checkpoint's tokens, or at nothing where a failed run took the caches with it. */
  async #goBack(checkpoint: Checkpoint | undefined): Promise<number> {
    if (checkpoint !== undefined)
      try {
        const { past, written = this.#writtenOf(past), states } = checkpoint;
        await (this.#session.checkpoints?.putBack(states) ?? this.#session.restore(past, states));
        this.#written = written;
        return past;
      } catch (error) {
        if (toWireError(error).code !== "RUN_FAILED") throw error;
        this.#checkpoints = [];
      }
    await this.#session.reset();
    this.#written = 0;
    return 0;
  }

  #check(tokens: ArrayLike<number>): void {
    if (this.facts.reader !== undefined && this.#source === undefined) throw nothingRead();
    if (this.past + tokens.length > this.facts.capacity)
      throw new WorkbenchError(
        "RUN_CONTEXT_FULL",
        `[decoder] the context is full: ${this.past} tokens and ${tokens.length} more, it holds ${this.facts.capacity}`,
        { hint: "Start a new conversation, shorten the prompt, or open the model with a larger context." },
      );
    this.#checkVocabulary(tokens, this.past);
  }

  /** `past`: tokens before these, so that an error names the place in the whole text. */
  #checkVocabulary(tokens: ArrayLike<number>, past = 0): void {
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i];
      if (token === undefined || !Number.isInteger(token) || token < 0 || token >= this.facts.vocabulary)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[decoder] token ${past + i}: got ${String(token)}, expected 0 to ${this.facts.vocabulary - 1}`,
        );
    }
  }

  async #run(tokens: Int32Array, want: Want, options: FeedOptions): Promise<TokenResult> {
    const result = await this.#submit(tokens, this.past, want, options.signal, options.onRun !== undefined);
    for (const token of tokens) this.#tokens.push(token);
    options.onRun?.(tokens.length, result);
    return result;
  }

  /** A run behind `past` tokens; without tokens of its own it follows the draw of the run before it. */
  async #submit(
    tokens: Int32Array | undefined,
    past: number,
    want: Want,
    signal: AbortSignal | undefined,
    profile = false,
  ): Promise<TokenResult> {
    const inputs = { ...this.#source?.inputs, [INPUTS.past]: Int32Array.of(past), [INPUTS.rows]: want.rows };
    const request: TokenRun = {
      ...(tokens === undefined
        ? { inputs, follow: INPUTS.tokens }
        : { inputs: { ...inputs, [INPUTS.tokens]: tokens } }),
      logits: LOGITS,
      ...(want.sample === undefined ? {} : { sample: want.sample }),
      ...(want.series === undefined ? {} : { series: want.series }),
      ...(want.score === undefined ? {} : { score: want.score }),
      ...(want.fetch === undefined ? {} : { fetch: want.fetch }),
      profile,
    };
    this.#read = undefined;
    this.#written = Math.max(this.#written, past + (want.series?.count ?? tokens?.length ?? 1));
    const result = await this.#runner.run(request, signal);
    this.#read = past + (tokens?.length ?? 1);
    if (!isNumber(result)) throw notNumbers();
    return result;
  }
}

/** True where rings that were written up to a position still hold what the first `count` tokens see. */
const reaches = ({ rows, spare }: Ring, written: number, count: number): boolean =>
  written <= rows || count >= written - spare;

/** Tokens of a saved state, behind their count. */
function countedTokens(saved: Int32Array, at: number, most: number): Int32Array {
  const count = saved[at] ?? -1;
  if (count < 0 || count > most || saved.length < at + 1 + count)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[decoder] saved state: ${4 * saved.length} bytes do not hold ${count} tokens of at most ${most}`,
    );
  return saved.slice(at + 1, at + 1 + count);
}

/** Greedy drawing and scoring go through logits that are not numbers without noticing: a damaged file would look like a silent model. */
const isNumber = ({ sampled, series, scored }: TokenResult): boolean =>
  !Number.isNaN(sampled?.logprob) &&
  series?.some(({ logprob }) => Number.isNaN(logprob)) !== true &&
  scored?.logprobs.some(Number.isNaN) !== true;

const notNumbers = (): WorkbenchError =>
  new WorkbenchError("RUN_FAILED", "[decoder] the logits: got NaN, expected numbers", {
    hint: "The file is damaged or was converted wrongly: some of its weights are not numbers, or too large.",
  });
