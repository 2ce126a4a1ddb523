/** A string table: each text once, index 0 is "". Columns refer to it by index. */
export class StringTable {
  readonly strings: string[] = [""];
  readonly #index = new Map<string, number>([["", 0]]);

  add(text: string): number {
    const known = this.#index.get(text);
    if (known !== undefined) return known;
    const at = this.strings.length;
    this.strings.push(text);
    this.#index.set(text, at);
    return at;
  }
}
