/**
 * HalfSipHash-1-3: a hash of bytes under a key that is drawn anew for each table, so that a file
 * cannot choose strings that collide.
 */
const randomWord = (): number => Math.floor(Math.random() * 2 ** 32) | 0;

export class KeyedHash {
  readonly #first: number;
  readonly #second: number;

  constructor(first = randomWord(), second = randomWord()) {
    this.#first = first;
    this.#second = second;
  }

  /** Of the bytes from…to, as a 32-bit integer with a sign. */
  of(bytes: Uint8Array, from: number, to: number): number {
    let v0 = this.#first;
    let v1 = this.#second;
    let v2 = this.#first ^ 0x6c796765;
    let v3 = this.#second ^ 0x74656462;
    const whole = to - ((to - from) & 3);
    for (let at = from; ; at += 4) {
      let word: number;
      if (at < whole)
        word =
          (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
      else {
        word = (to - from) << 24;
        for (let i = at; i < to; i++) word |= (bytes[i] ?? 0) << (8 * (i - at));
      }
      v3 ^= word;
      // One round for each word, and three more behind the last one.
      for (let round = at < whole ? 1 : 4; round > 0; round--) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
        if (at >= whole && round === 4) {
          v0 ^= word;
          v2 ^= 0xff;
        }
      }
      if (at >= whole) return v1 ^ v3;
      v0 ^= word;
    }
  }
}
