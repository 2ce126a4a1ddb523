/**
 * Damages GGUF headers in the ways files are damaged, or made to deceive: flipped bits, lying counts and lengths, cuts,
 * repeated and swapped pieces. The same number gives the same damage.
 */
import { seededRandom } from "./random.ts";
import type { Random } from "./random.ts";

/** Values that counts, lengths and offsets lie with. */
const LIES = [
  0n,
  1n,
  2n,
  7n,
  255n,
  65_535n,
  0x7fffffffn,
  0xffffffffn,
  0x100000000n,
  2n ** 40n,
  2n ** 53n,
  2n ** 62n,
  2n ** 63n,
  2n ** 64n - 1n,
];

type Damage = (bytes: Uint8Array, random: Random) => Uint8Array;

const flipBits: Damage = (bytes, random) => {
  for (let n = 1 + random.integer(8); n > 0; n--) {
    const at = random.integer(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.integer(8));
  }
  return bytes;
};

const lie64: Damage = (bytes, random) => {
  const at = random.integer(Math.max(1, bytes.length - 8));
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(at, random.pick(LIES), true);
  return bytes;
};

/** The two counts at the front, where a lie reaches furthest. */
const lieInFront: Damage = (bytes, random) => {
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(8 + 8 * random.integer(2), random.pick(LIES), true);
  return bytes;
};

/** A small change of a number that is there: the likeliest to pass the first checks. */
const nudge: Damage = (bytes, random) => {
  const at = random.integer(Math.max(1, bytes.length - 4));
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setInt32(at, view.getInt32(at, true) + random.pick([-32, -8, -2, -1, 1, 2, 3, 8, 32, 256, 65_536]), true);
  return bytes;
};

const cut: Damage = (bytes, random) => bytes.slice(0, random.integer(bytes.length + 1));

const overwrite: Damage = (bytes, random) => {
  const from = random.integer(bytes.length);
  const length = Math.min(bytes.length - from, random.integer(200));
  bytes.copyWithin(random.integer(bytes.length), from, from + length);
  return bytes;
};

const fill: Damage = (bytes, random) => {
  const from = random.integer(bytes.length);
  return bytes.fill(random.pick([0, 0xff, 0x20, random.integer(256)]), from, from + random.integer(64));
};

const insert: Damage = (bytes, random) => {
  const at = random.integer(bytes.length);
  const piece = Uint8Array.from({ length: random.integer(40) }, () => random.integer(256));
  return Uint8Array.from([...bytes.subarray(0, at), ...piece, ...bytes.subarray(at)]);
};

const DAMAGES = [flipBits, lie64, lieInFront, nudge, nudge, cut, overwrite, fill, insert];

/** One to three kinds of damage to a copy of the bytes. */
export function mutated(original: Uint8Array, seed: number): Uint8Array {
  const random = seededRandom(seed);
  let bytes: Uint8Array = original.slice();
  for (let n = 1 + random.integer(3); n > 0; n--) if (bytes.length > 24) bytes = random.pick(DAMAGES)(bytes, random);
  return bytes;
}
