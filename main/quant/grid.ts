/** The tables of the IQ types, unpacked when first needed, and the signs that go with them. */
import { GRIDS } from "./grids.ts";

export type GridName = keyof typeof GRIDS;

const unpacked = new Map<GridName, Int8Array>();

/** Eight values an entry (IQ3: four), entry by entry. */
export function grid(name: GridName): Int8Array {
  const known = unpacked.get(name);
  if (known !== undefined) return known;
  const { values, entries } = GRIDS[name];
  const bits = values.length <= 4 ? 2 : 4;
  const perEntry = 16 / bits;
  const made = new Int8Array((entries.length / 4) * perEntry);
  for (let i = 0; i < made.length; i++) {
    const at = 4 * Math.floor(i / perEntry);
    const word = Number.parseInt(entries.slice(at, at + 4), 16);
    made[i] = values[(word >> (bits * (i % perEntry))) & (2 ** bits - 1)] ?? 0;
  }
  unpacked.set(name, made);
  return made;
}

/** Eight signs from seven bits: an even number of them is minus. */
export function eightSigns(seven: number): number {
  let parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | ((parity & 1) << 7);
}

/** `count` values of a table from place `at`, the set bits of `signs` (lowest first) negated. */
export function signedEntry(
  table: Int8Array,
  at: number,
  signs: number,
  codes: Int8Array,
  to: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const value = table[at + i] ?? 0;
    codes[to + i] = (signs >> i) & 1 ? -value : value;
  }
}
