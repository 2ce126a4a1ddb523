/** The text of a section that is being written, and whether it stands within quotation marks: each character is looked at once. */
import { LONGEST_CALL } from "./callBodies.ts";

export class OpenText {
  #text = "";
  /** Where the look goes on, and what it has found so far. */
  #at = 0;
  #isInside = false;
  #isJson: boolean | undefined;

  get value(): string {
    return this.#text;
  }

  begin(text: string): void {
    this.#text = text;
    this.#at = 0;
    this.#isInside = false;
    this.#isJson = undefined;
  }

  add(text: string): void {
    this.#text += text;
  }

  /** True within the quotation marks of a JSON that is not complete. */
  isInsideQuotes(): boolean {
    if (this.#text.length > LONGEST_CALL) return false;
    // Blanks alone decide nothing yet.
    if (this.#isJson === undefined && /\S/u.test(this.#text)) this.#isJson = /^\s*[[{]/u.test(this.#text);
    if (this.#isJson !== true) return false;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      // What a backslash stands before is passed over, also where it is not written yet.
      if (character === "\\" && this.#isInside) this.#at += 1;
      else if (character === '"') this.#isInside = !this.#isInside;
    }
    return this.#isInside;
  }
}
