/** Where bytes go: written in order, then finished (visible under their name only from then on) or abandoned. */
export interface ByteSink {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Makes everything durable and visible. */
  readonly finish: () => Promise<void>;
  /** Leaves nothing behind; harmless after `finish`. */
  readonly abandon: () => Promise<void>;
}

export interface MemorySink extends ByteSink {
  /** The written bytes; empty until `finish`. */
  readonly bytes: () => Uint8Array;
}

export function memorySink(): MemorySink {
  let parts: Uint8Array[] = [];
  let whole = new Uint8Array(0);
  return {
    async write(bytes) {
      parts.push(bytes.slice());
    },
    async finish() {
      whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.byteLength;
      }
      parts = [];
    },
    async abandon() {
      parts = [];
    },
    bytes: () => whole,
  };
}
