/**
 * Tokens drawn one after the other: each is fed, the next is drawn behind it. The next step is always under way while the
 * consumer looks at a token; where the device can follow its own draw, so is the one after it, because a step that waits for
 * its token to be known here leaves the cores idle for some hundred microseconds.
 */
import type { SampledToken } from "../backends/cpu/engine.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { RunResult, SampleOptions } from "./device.ts";

export interface DrawOptions {
  readonly count: number;
  /**
   * How to draw in this step (0 for the first). `given` are the first token and all that were drawn so far; where a step is
   * asked for ahead, the last one is missing (`given.length === step`), and the device adds it to what the repetition
   * penalty counts.
   */
  readonly sampling: (given: readonly number[], step: number) => SampleOptions;
  readonly signal?: AbortSignal | undefined;
}

/** What a session offers for it. */
export interface DrawSteps {
  /** A run may follow the draw of the one before it. */
  readonly follows: boolean;
  /** A run of one token, or of the one that the run under way will draw. */
  readonly submit: (token: number | "ahead", sample: SampleOptions, signal: AbortSignal) => Promise<RunResult>;
  /** The run of this token ended: the cache holds it. */
  readonly commit: (token: number) => void;
}

export class Draws implements AsyncIterableIterator<SampledToken, void, void> {
  readonly #steps: DrawSteps;
  readonly #options: DrawOptions;
  readonly #stopper = new AbortController();
  readonly #forward = (): void => this.#stopper.abort();
  readonly #given: number[];
  #pending: Promise<RunResult> | undefined;
  #ahead: Promise<RunResult> | undefined;

  constructor(first: number, steps: DrawSteps, options: DrawOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#given = [first];
    options.signal?.addEventListener("abort", this.#forward, { once: true });
    if (options.signal?.aborted === true) this.#stopper.abort();
    this.#pending = this.#submit(0, first);
    this.#ahead = this.#submit(1, "ahead");
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<SampledToken, void>> {
    if (this.#pending === undefined) return this.return();
    try {
      const { sampled } = await this.#pending;
      const fed = this.#given.at(-1);
      if (sampled === undefined || fed === undefined)
        throw new WorkbenchError("BUG_INVARIANT", "[decoder] a step drew no token");
      this.#steps.commit(fed);
      this.#given.push(sampled.id);
      const step = this.#given.length - 1;
      this.#pending = this.#ahead ?? this.#submit(step, sampled.id);
      this.#ahead = this.#pending === undefined ? undefined : this.#submit(step + 1, "ahead");
      return { done: false, value: sampled };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  /** Ends the steps that nobody waits for any more. */
  async return(): Promise<IteratorResult<SampledToken, void>> {
    const left = [this.#pending, this.#ahead].filter((run) => run !== undefined);
    this.#pending = this.#ahead = undefined;
    this.#options.signal?.removeEventListener("abort", this.#forward);
    this.#stopper.abort();
    await Promise.allSettled(left);
    return { done: true, value: undefined };
  }

  #submit(step: number, token: number | "ahead"): Promise<RunResult> | undefined {
    if (step >= this.#options.count || (token === "ahead" && !this.#steps.follows)) return undefined;
    const run = this.#steps.submit(token, this.#options.sampling(this.#given, step), this.#stopper.signal);
    run.catch(() => undefined); // seen by next(), or by nobody when the consumer leaves
    return run;
  }
}
