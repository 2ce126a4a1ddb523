/** Bytes of tokens to text as they come: a character whose bytes are spread over tokens waits until it is complete. */

export interface StreamingDetokenizer {
  /** The text that became complete with this token. */
  readonly push: (id: number) => string;
  /** What is left when generation ends: unfinished characters become U+FFFD. */
  readonly flush: () => string;
}

export function streamingDetokenizer(pieceOf: (id: number) => Uint8Array): StreamingDetokenizer {
  let decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    push: (id) => decoder.decode(pieceOf(id), { stream: true }),
    flush() {
      const rest = decoder.decode();
      decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      return rest;
    },
  };
}
