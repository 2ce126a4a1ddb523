/** The tokens that a draw chooses among, most probable first. */

export interface Candidates {
  readonly ids: Int32Array;
  /** exp((logit - largest logit) / temperature), in falling order. */
  readonly weights: Float64Array;
}

export const first = ({ ids, weights }: Candidates, count: number): Candidates => ({
  ids: ids.subarray(0, count),
  weights: weights.subarray(0, count),
});

export const sumOf = (weights: Float64Array): number => weights.reduce((sum, weight) => sum + weight, 0);

/** Room for the id below 32 bits of logit in a number that float64 holds exactly. */
const MOST_TOKENS = 2 ** 21;
/** The bits of -0. */
const MINUS_ZERO = -0x80000000;
/** Fewer are sorted as they are. */
const MANY = 4096;

/**
 * Ids of the `count` largest values in falling order, the lower id first among equals. A value's bits, turned so that they
 * fall as numbers do, stand above its id in one number; of many, a histogram over their upper half says which need sorting.
 */
export function largest(values: Float32Array, count: number): Int32Array {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  const falling = new Uint32Array(values.length);
  for (let id = 0; id < bits.length; id++) {
    const bit = bits[id] ?? 0;
    // -0 is 0.
    falling[id] = bit === MINUS_ZERO ? 0x7fffffff : bit < 0 ? bit : 0x7fffffff - bit;
  }
  const last = count < values.length && values.length > MANY ? lastUpperHalf(falling, count) : 0xffff;
  const keys = new Float64Array(values.length);
  let kept = 0;
  for (let id = 0; id < falling.length; id++) {
    const key = falling[id] ?? 0;
    if (key >>> 16 <= last) keys[kept++] = key * MOST_TOKENS + id;
  }
  const sorted = keys.subarray(0, kept).sort();
  const ids = new Int32Array(Math.min(count, kept));
  for (let i = 0; i < ids.length; i++) ids[i] = (sorted[i] ?? 0) % MOST_TOKENS;
  return ids;
}

/** The upper half of the key that stands at this place. */
function lastUpperHalf(keys: Uint32Array, place: number): number {
  const counts = new Uint32Array(1 << 16);
  for (let id = 0; id < keys.length; id++) {
    const half = (keys[id] ?? 0) >>> 16;
    counts[half] = (counts[half] ?? 0) + 1;
  }
  let last = 0;
  for (let seen = counts[0] ?? 0; seen < place && last < 0xffff; seen += counts[last] ?? 0) last++;
  return last;
}
