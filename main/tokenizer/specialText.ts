/**
 * Finds special tokens in a text before it is tokenised: the longest texts first, each everywhere it occurs, then the
 * next in what is left. Control tokens only when they may be parsed; user-defined ones always.
 */
import type { Vocabulary } from "./vocabulary.ts";

export type Fragment =
  { readonly kind: "text"; readonly text: string } | { readonly kind: "token"; readonly id: number };

interface SpecialToken {
  readonly id: number;
  readonly text: string;
  readonly isUser: boolean;
  readonly stripRight: boolean;
}

export class SpecialText {
  readonly #tokens: readonly SpecialToken[];
  /** First two UTF-16 units of all of them: most texts have none, and then nothing is searched. */
  readonly #beginnings = new Set<string>();

  /** `stripsRight` says for a text whether white space after it is dropped (phi-3). */
  constructor(vocabulary: Vocabulary, stripsRight: (text: string) => boolean) {
    const tokens = vocabulary.specialTokens().map((id) => {
      const { length } = vocabulary.tokens.bytesAt(id);
      const text = vocabulary.tokens.textAt(id);
      return { id, text, length, isUser: vocabulary.kind(id) === "user", stripRight: stripsRight(text) };
    });
    this.#tokens = tokens.filter((token) => token.length > 0).toSorted((a, b) => b.length - a.length);
    for (const token of this.#tokens) this.#beginnings.add(token.text.slice(0, 2));
  }

  split(text: string, parseSpecial: boolean): readonly Fragment[] {
    if (text === "") return [];
    const present = this.#beginningsIn(text);
    let fragments: Fragment[] = [{ kind: "text", text }];
    if (present.size === 0) return fragments;
    for (const token of this.#tokens) {
      if (!parseSpecial && !token.isUser) continue;
      if (present.has(token.text.slice(0, 2)) && text.includes(token.text))
        fragments = fragments.flatMap((fragment) =>
          fragment.kind === "text" ? cut(fragment.text, token) : [fragment],
        );
    }
    return fragments;
  }

  #beginningsIn(text: string): ReadonlySet<string> {
    const present = new Set<string>();
    for (let i = 0; i < text.length; i++) {
      const one = text[i] ?? "";
      if (this.#beginnings.has(one)) present.add(one);
      const two = text.slice(i, i + 2);
      if (two.length === 2 && this.#beginnings.has(two)) present.add(two);
    }
    return present;
  }
}

function cut(text: string, token: SpecialToken): Fragment[] {
  const fragments: Fragment[] = [];
  let start = 0;
  for (;;) {
    const at = text.indexOf(token.text, start);
    if (at < 0) break;
    if (at > start) fragments.push({ kind: "text", text: text.slice(start, at) });
    fragments.push({ kind: "token", id: token.id });
    start = at + token.text.length;
    if (token.stripRight) while (start < text.length && /[ \t\n\v\f\r]/u.test(text[start] ?? "")) start += 1;
  }
  if (start < text.length) fragments.push({ kind: "text", text: text.slice(start) });
  return fragments;
}
