/** Random numbers for tests: the same ones every time. */

export interface Random {
  /** 0 ≤ x < 1 */
  readonly next: () => number;
  /** A whole number from 0 to below `limit`, which is at most 2^32. */
  readonly integer: (limit: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  /** Standard normal. */
  readonly normal: () => number;
}

/** mulberry32: small, quick, good enough for test data. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next32 = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  const next = (): number => next32() / 2 ** 32;
  const integer = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    integer,
    pick<T>(items: readonly T[]): T {
      const item = items[integer(items.length)];
      if (item === undefined) throw new Error("pick from an empty list");
      return item;
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}

export function randomFloats(random: Random, count: number, scale = 1): Float32Array {
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) out[i] = random.normal() * scale;
  return out;
}
