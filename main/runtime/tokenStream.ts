/**
 * Tokens drawn one after the other: each is fed, the next is drawn behind it. The next run is always under way while the
 * consumer looks at a token; where the device can follow its own draw, so is the one after it, because a run that waits for
 * its token to be known here leaves the cores idle for some hundred microseconds. Where the device can, a run draws a series
 * of tokens that takes about 50 ms: JavaScript takes a core for a third of a millisecond each time it hears of one, whatever it hears.
 */
import type { SampledToken, TokenResult, SampleOptions } from "../ir/session.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";

export interface DrawOptions {
  readonly count: number;
  /**
   * How to draw in this step (0 for the first). `known` are the first token and all that are known to be drawn; where a step is
   * asked for ahead, the last ones are missing (`known.length <= step`), and the device adds them to what the repetition
   * penalty counts.
   */
  readonly sampling: (known: readonly number[], step: number) => SampleOptions;
  /** Drawing ends behind the first of these. */
  readonly endings?: Int32Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Requests `count` tokens from step `at`, after a given token or after the previous run's last.
 */
export interface DrawRun {
  readonly at: number;
  readonly count: number;
  readonly token: number | "ahead";
  readonly sample: SampleOptions;
}

/** What a session offers for it. */
export interface DrawSteps {
  /** A run may follow the draw of the one before it. */
  readonly follows: boolean;
  /** A run may draw several tokens. */
  readonly series: boolean;
  readonly submit: (run: DrawRun, signal: AbortSignal) => Promise<TokenResult>;
  /** This token was run: the cache holds it. */
  readonly commit: (token: number) => void;
  /** No more runs are asked for. */
  readonly ended: () => void;
}

export interface DrawnToken extends SampledToken {
  /** Seconds from its draw to when it was given out. */
  readonly ago: number;
}

/** Text that comes in this rhythm still flows. */
const SERIES_SECONDS = 0.05;
const LONGEST_SERIES = 64;

interface Pending {
  readonly count: number;
  readonly result: Promise<TokenResult>;
}

export class TokenStream implements AsyncIterableIterator<DrawnToken, void, void> {
  readonly #steps: DrawSteps;
  readonly #options: DrawOptions;
  readonly #stopper = new AbortController();
  readonly #forward = (): void => this.#stopper.abort();
  /** The first token, and all that are known to be drawn; the last `#ready.length` of them have not been given out. */
  readonly #known: number[];
  readonly #ready: DrawnToken[] = [];
  /** At most two: the second follows the first. */
  readonly #runs: Pending[] = [];
  #asked = 0;
  /** When the tokens that are ready came. */
  #received = 0;
  /** An end token was drawn; queued requests are discarded. */
  #ended = false;
  /** Tokens of the next run. */
  #pace = 1;

  constructor(first: number, steps: DrawSteps, options: DrawOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#known = [first];
    options.signal?.addEventListener("abort", this.#forward, { once: true });
    if (options.signal?.aborted === true) this.#stopper.abort();
    this.#ask(first);
    if (steps.follows) this.#ask("ahead");
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<DrawnToken, void>> {
    try {
      if (this.#ready.length === 0) await this.#receive();
      const token = this.#ready.shift();
      if (token === undefined) return await this.return();
      const fed = this.#known.at(-2 - this.#ready.length);
      if (fed !== undefined) this.#steps.commit(fed);
      return { done: false, value: { ...token, ago: token.ago + performance.now() / 1000 - this.#received } };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  /** Ends the runs that are no longer waited for. */
  async return(): Promise<IteratorResult<DrawnToken, void>> {
    const left = this.#runs.splice(0);
    this.#ready.length = 0;
    this.#options.signal?.removeEventListener("abort", this.#forward);
    this.#stopper.abort();
    this.#steps.ended();
    await Promise.allSettled(left.map(({ result }) => result));
    return { done: true, value: undefined };
  }

  /** Waits for the oldest run, and asks for the one after those that are under way. */
  async #receive(): Promise<void> {
    const [run] = this.#runs;
    if (run === undefined || this.#ended) return;
    const { sampled, series = sampled === undefined ? [] : [sampled], seconds } = await run.result;
    const last = series.at(-1);
    if (last === undefined) throw new WorkbenchError("BUG_INVARIANT", "[decoder] a step drew no token");
    if (this.#runs.shift() === undefined) return; // the consumer has left in the meantime
    const each = seconds / series.length;
    this.#received = performance.now() / 1000;
    this.#ready.push(...series.map((token, i) => ({ ...token, ago: each * (series.length - 1 - i) })));
    this.#known.push(...series.map(({ id }) => id));
    this.#ended = this.#options.endings?.includes(last.id) === true;
    if (this.#ended) this.#stopper.abort();
    else {
      this.#pace = paceOf(each, run.count);
      this.#ask(this.#runs.length === 0 ? last.id : "ahead");
    }
  }

  #ask(token: number | "ahead"): void {
    const at = this.#asked;
    const count = Math.min(this.#steps.series ? this.#pace : 1, this.#options.count - at);
    if (count <= 0) return;
    const sample = this.#options.sampling(this.#known, at);
    const result = this.#steps.submit({ at, count, token, sample }, this.#stopper.signal);
    result.catch(() => undefined); // seen by next(), or not at all when the consumer leaves
    this.#asked += count;
    this.#runs.push({ count, result });
  }
}

/** As many tokens as take the time that a series should; one moment is no measure, so at most twice as many as last time. */
const paceOf = (seconds: number, last: number): number =>
  Math.max(1, Math.min(Math.floor(SERIES_SECONDS / seconds), 2 * last, LONGEST_SERIES));
