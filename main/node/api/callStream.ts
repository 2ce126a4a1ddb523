/**
 * The arguments of a call as they are written. Only where a call has to come, so that the grammar keeps its text a call to the end,
 * and of families that write `{"name": …, "arguments": {…}}`: the arguments are then a piece of the text as it stands. Of a list of
 * calls the first one comes so; all others come whole.
 */
import type { TokenView } from "../../contract/views/run.ts";

type CallDelta =
  | { readonly kind: "begins"; readonly name: string; readonly id: string | undefined }
  | { readonly kind: "arguments"; readonly text: string };

/** Up to the arguments; other keys with texts may stand before the name, an id among them. */
const HEAD =
  /^[\s[]*\{\s*(?:"(\w+)"\s*:\s*"([^"\\]*)"\s*,\s*)??"name"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/u;
/** Anything longer is no head. */
const LONGEST_HEAD = 1000;

export class CallStream {
  readonly #names: ReadonlySet<string>;
  #state: "head" | "arguments" | "over" = "head";
  #head = "";
  #depth = 0;
  #isInText = false;
  #isEscaped = false;

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
  }

  push(pieces: TokenView["pieces"]): readonly CallDelta[] {
    return pieces.flatMap(({ part, text }) => {
      if (part === "call") return this.#read(text);
      this.next();
      return [];
    });
  }

  /** What comes is another call. */
  next(): void {
    this.#state = "head";
    this.#head = "";
  }

  #read(text: string): readonly CallDelta[] {
    if (this.#state === "over") return [];
    if (this.#state === "arguments") return this.#arguments(text);
    this.#head += text;
    const found = HEAD.exec(this.#head);
    if (found === null) {
      if (this.#head.length > LONGEST_HEAD) this.#state = "over";
      return [];
    }
    const [head, key, value, name = ""] = found;
    if (!this.#names.has(name)) {
      this.#state = "over";
      return [];
    }
    this.#state = "arguments";
    this.#depth = 0;
    const begins = { kind: "begins", name, id: key === "id" ? value : undefined } as const;
    return [begins, ...this.#arguments(this.#head.slice(head.length))];
  }

  /** To the brace that closes the first one. */
  #arguments(text: string): readonly CallDelta[] {
    let end = text.length;
    for (let at = 0; at < text.length; at++) {
      const letter = text[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInText) {
        if (letter === "\\") this.#isEscaped = true;
        else if (letter === '"') this.#isInText = false;
      } else if (letter === '"') this.#isInText = true;
      else if (letter === "{") this.#depth++;
      else if (letter === "}" && --this.#depth === 0) {
        this.#state = "over";
        end = at + 1;
        break;
      }
    }
    return end === 0 ? [] : [{ kind: "arguments", text: text.slice(0, end) }];
  }
}
