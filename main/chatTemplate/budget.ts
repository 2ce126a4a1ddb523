/**
 * What a template may use up: every step, text and list is counted against limits, so that the
 * answer is the same on every machine. Work is counted in units of about half a microsecond: one
 * per step, more for long texts and lists.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";

export interface TemplateLimits {
  readonly templateCharacters: number;
  /** Of one text made by the template, its output included. */
  readonly textCharacters: number;
  /** Elements of one list. */
  readonly items: number;
  readonly work: number;
  readonly depth: number;
  /** A clock beside the count, for work that was counted too cheaply. */
  readonly milliseconds: number;
}

export const TEMPLATE_LIMITS: TemplateLimits = {
  templateCharacters: 128 << 10,
  textCharacters: 4 << 20,
  items: 20_000,
  work: 1_000_000,
  depth: 500,
  milliseconds: 750,
};

export class TemplateBudget {
  readonly limits: TemplateLimits;
  readonly #deadline: number;
  #work = 0;
  #nextClock = 0;

  constructor(limits: TemplateLimits) {
    this.limits = limits;
    this.#deadline = performance.now() + limits.milliseconds;
  }

  spend(units: number): void {
    this.#work += units;
    if (this.#work > this.limits.work) throw templateError("it does not come to an end");
    if (this.#work < this.#nextClock) return;
    this.#nextClock = this.#work + 10_000;
    if (performance.now() > this.#deadline) throw templateError(`it took longer than ${this.limits.milliseconds} ms`);
  }

  /** Asked before a text is made, and paid for it. */
  text(characters: number): void {
    if (characters > this.limits.textCharacters)
      throw templateError(`a text of ${characters} characters, expected at most ${this.limits.textCharacters}`);
    this.spend(characters / 32);
  }

  /** Asked before a list is made, and paid for it. */
  items(count: number): void {
    if (count > this.limits.items) throw templateError(`a list of ${count}, expected at most ${this.limits.items}`);
    this.spend(count * 2);
  }

  /**
   * A search for one text in another. In the worst case JavaScript compares each pair of their
   * characters, and no clock can interrupt it.
   */
  search(text: string, part: string): void {
    const places = Math.max(0, text.length - part.length + 1);
    this.spend(text.length / 32 + (places * part.length) / 1024);
  }
}

export const templateError = (message: string, cause?: unknown): WorkbenchError =>
  new WorkbenchError("INPUT_TEMPLATE", `[chat template] ${message}`, {
    hint: "Give the model plain text instead (completion), or another template.",
    ...(cause === undefined ? {} : { cause }),
  });
