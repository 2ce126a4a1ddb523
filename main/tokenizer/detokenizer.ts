/** Bytes of tokens to text as they come: a character whose bytes are spread over tokens waits until it is complete. */

export interface StreamingDetokenizer {
  /** The text that became complete with this token. */
  readonly push: (id: number) => string;
  /** True when the last bytes begin a character that is not complete yet. */
  readonly open: () => boolean;
  /** What is left when generation ends: unfinished characters become U+FFFD. */
  readonly flush: () => string;
}

export function streamingDetokenizer(pieceOf: (id: number) => Uint8Array): StreamingDetokenizer {
  const newDecoder = () => new TextDecoder("utf-8", { ignoreBOM: true });
  let decoder = newDecoder();
  // Bytes since the last place where nothing was open, and the text that they have given: decoded
  // as if it ended here, open bytes give more.
  let bytes: readonly number[] = [];
  let given = 0;
  const settle = (): void => {
    bytes = [];
    given = 0;
  };
  return {
    push(id) {
      const piece = pieceOf(id);
      const text = decoder.decode(piece, { stream: true });
      bytes = [...bytes, ...piece];
      given += text.length;
      const last = bytes.at(-1) ?? 0;
      if (last < 0x80 || newDecoder().decode(Uint8Array.from(bytes)).length === given) settle();
      return text;
    },
    open: () => bytes.length > 0,
    flush() {
      const rest = decoder.decode();
      decoder = newDecoder();
      settle();
      return rest;
    },
  };
}

/**
 * Without the spaces before ? ! . , and before 's 'm 're 've, nor those around a single apostrophe.
 */
export const cleanSpaces = (text: string): string =>
  text
    .replaceAll(/ (?=[?!.,])/gu, "")
    .replaceAll(" ' ", "'")
    .replaceAll(/ (?='(?:[sm]|re|ve))/gu, "");
