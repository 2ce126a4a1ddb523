/**
 * Philox4x32-10, a counter-based generator (Salmon et al. 2011): four words of 32 bits for each counter of four words under a key of
 * two. Each round multiplies two words by constants and mixes the halves of the products. The native engines have the same:
 * native/src/core/sampling.cpp, native/src/mlx/calls/random.cpp.
 */

type Four<T> = readonly [T, T, T, T];
type Two<T> = readonly [T, T];

const ROUNDS = 10;
const MULTIPLIERS: Two<number> = [0xd2511f53, 0xcd9e8d57];
/** The key grows by these from round to round. */
const STEPS: Two<number> = [0x9e3779b9, 0xbb67ae85];

/** The upper half of a product of two words. */
const upper = (a: number, b: number): number => Number((BigInt(a) * BigInt(b)) >> 32n);

/** Words are numbers from 0 to 2³² − 1. */
export function philox(counter: Four<number>, key: Two<number>): Four<number> {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round++) {
    const [m0, m1] = MULTIPLIERS;
    const next: Four<number> = [upper(m1, c2) ^ c1 ^ k0, Math.imul(m1, c2), upper(m0, c0) ^ c3 ^ k1, Math.imul(m0, c0)];
    [c0, c1, c2, c3] = next.map((word) => word >>> 0) as unknown as Four<number>;
    [k0, k1] = [(k0 + STEPS[0]) >>> 0, (k1 + STEPS[1]) >>> 0];
  }
  return [c0, c1, c2, c3];
}

/** Python of the oracles: `words(seed, shape)`, with what the authors' own test vectors say of it. */
export const PHILOX_ORACLE = `
def philox(counter, key):
    c0, c1, c2, c3 = [np.asarray(word, np.uint64) for word in counter]
    k0, k1 = [int(word) for word in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (b >> np.uint64(32)) ^ c1 ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c3 ^ np.uint64(k1), a & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [c0, c1, c2, c3]

assert [int(w) for w in philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0])] == [
    0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]

def words(seed, shape):
    k0, k1, c2, c3 = [int(word) & 0xFFFFFFFF for word in np.asarray(seed)]
    count = int(np.prod(shape))
    block = np.arange(-(-count // 4), dtype=np.uint64)
    made = philox([block, block * 0, block * 0 + np.uint64(c2), block * 0 + np.uint64(c3)], [k0, k1])
    return np.stack(made, -1).reshape(-1)[:count].reshape(shape).astype(np.uint32)

def unit(seed, shape):
    return (words(seed, shape) >> np.uint32(8)).astype(np.float64) * 2.0**-24
`.trim();
