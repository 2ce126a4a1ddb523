/**
 * How many tokens of a prompt run at once. Alone, as many as the plan takes. While other sessions of the decoder generate, as
 * many as take about a tenth of a second, because their answers stand still meanwhile.
 */
const CHUNK_SECONDS = 0.1;
/** Below that, a prompt costs as much as its tokens one by one. */
const LEAST = 16;
/** Before anything was measured. */
const FIRST = 64;

export class PromptPace {
  readonly #most: number;
  #generating = 0;
  #secondsPerToken: number | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Tokens of the next run. */
  get chunk(): number {
    if (this.#generating === 0) return this.#most;
    const fitting = this.#secondsPerToken === undefined ? FIRST : Math.floor(CHUNK_SECONDS / this.#secondsPerToken);
    return Math.min(this.#most, Math.max(LEAST, fitting));
  }

  /** A session begins to generate; call the answer when it ends. */
  generates(): () => void {
    this.#generating++;
    let ended = false;
    return () => {
      if (!ended) this.#generating--;
      ended = true;
    };
  }

  /** A run of a prompt took so long. Short ones tell nothing. */
  took(tokens: number, seconds: number): void {
    if (tokens < LEAST) return;
    const now = seconds / tokens;
    this.#secondsPerToken = this.#secondsPerToken === undefined ? now : (this.#secondsPerToken + now) / 2;
  }
}
