/**
 * The random numbers of a draw: Philox4x32-10 (Salmon et al., 2011), as the native engines have it
 * (native/src/core/sampling.cpp). A number depends on seed, step and stream only.
 */

/** Streams of one step: the draw itself, and XTC's decision. */
export type Stream = "draw" | "xtc";
const STREAMS: Readonly<Record<Stream, number>> = { draw: 0, xtc: 1 };

const LOW = 0xffffffffn;

function product(factor: bigint, word: number): readonly [high: number, low: number] {
  const both = factor * BigInt(word);
  return [Number(both >> 32n), Number(both & LOW)];
}

function philox(counter: readonly [number, number, number, number], key: number): readonly [number, number] {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = [key >>> 0, 0];
  for (let round = 0; round < 10; round++) {
    const [h0, l0] = product(0xd2511f53n, c0);
    const [h1, l1] = product(0xcd9e8d57n, c2);
    [c0, c1, c2, c3] = [(h1 ^ c1 ^ k0) >>> 0, l1, (h0 ^ c3 ^ k1) >>> 0, l0];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1];
}

/** A number in [0, 1) with 53 random bits. */
export function uniform(seed: number, step: number, stream: Stream = "draw"): number {
  const [high, low] = philox([step >>> 0, Math.floor(step / 2 ** 32), STREAMS[stream], 0], seed);
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}
