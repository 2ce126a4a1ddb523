/**
 * Stop strings across token boundaries: tokens wait until it is certain that their text is not the beginning of a stop
 * string; what stands before a found one is given out, the rest is not.
 */

export interface TextToken<T> {
  readonly token: T;
  readonly text: string;
}

export interface StopScan<T> {
  /** Tokens whose text is final now. */
  readonly ready: readonly TextToken<T>[];
  /** The stop string that was found. */
  readonly found?: string;
}

export class StopText<T> {
  readonly #stops: readonly string[];
  #held: TextToken<T>[] = [];

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop.length > 0);
  }

  /** `open`: the token also begins a character that is not complete, so that it may carry what `flush` is given. */
  push(token: T, text: string, open = false): StopScan<T> {
    this.#held.push({ token, text });
    const whole = this.#held.map((held) => held.text).join("");
    const hits = this.#stops.map((stop) => ({ stop, at: whole.indexOf(stop) })).filter(({ at }) => at >= 0);
    const first = hits.reduce<(typeof hits)[number] | undefined>(
      (best, hit) => (best === undefined || hit.at < best.at ? hit : best),
      undefined,
    );
    if (first !== undefined) return { ready: this.#take(first.at), found: first.stop };
    return { ready: this.#takeWhole(whole.length - this.#openEnd(whole), open ? 1 : 0) };
  }

  /** What is still held, when the text ends without a stop string. `tail` is text that no token of its own carries. */
  flush(tail = ""): readonly TextToken<T>[] {
    const held = this.#held;
    this.#held = [];
    const last = held.pop();
    return last === undefined ? [] : [...held, { token: last.token, text: last.text + tail }];
  }

  /** Length of the longest end of the text that begins a stop string. */
  #openEnd(text: string): number {
    let longest = 0;
    for (const stop of this.#stops)
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--)
        if (text.endsWith(stop.slice(0, length))) longest = length;
    return longest;
  }

  /** Tokens that lie wholly in the first `length` characters; the last `kept` of all stay. */
  #takeWhole(length: number, kept = 0): TextToken<T>[] {
    const ready: TextToken<T>[] = [];
    let end = 0;
    while (this.#held.length > kept) {
      const [next] = this.#held;
      if (next === undefined || end + next.text.length > length) break;
      end += next.text.length;
      ready.push(next);
      this.#held.shift();
    }
    return ready;
  }

  /** The first `length` characters exactly; the token that reaches over the end is cut. Everything else is dropped. */
  #take(length: number): TextToken<T>[] {
    const ready = this.#takeWhole(length);
    const taken = ready.reduce((n, { text }) => n + text.length, 0);
    const [cut] = this.#held;
    if (cut !== undefined && taken < length) ready.push({ token: cut.token, text: cut.text.slice(0, length - taken) });
    this.#held = [];
    return ready;
  }
}
