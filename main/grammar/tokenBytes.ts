/** What a token adds to a text under a grammar. */

/** What this needs of a tokenizer. */
export interface TokenBytesSource {
  readonly endings: ReadonlySet<number>;
  readonly pieceBytes: (id: number, special?: boolean) => Uint8Array;
}

/**
 * Control tokens add no text, so a grammar cannot choose them; those that end a text are chosen by their ids. The character 0
 * is in no text.
 */
export const grammarBytes =
  ({ endings, pieceBytes }: TokenBytesSource) =>
  (id: number): Uint8Array => {
    const bytes = endings.has(id) ? NOTHING : pieceBytes(id);
    return bytes.includes(0) ? NOTHING : bytes;
  };

const NOTHING = new Uint8Array(0);
