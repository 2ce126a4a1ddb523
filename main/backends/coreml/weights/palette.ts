/**
 * Weights as a palette: a table of fp16 values, and for each weight its place in the table. The table is found by k-means over
 * the fp16 values of the weights that share it. There are few different halves, so they are counted first, and the means are
 * worked out over the counts: exact to the last bit, and the same each time.
 */
import { f16Table, f32ToF16 } from "../../../quant/half.ts";
import type { PaletteForm } from "./forms.ts";

/** A table of halves as bits, and the place of every half that was counted. */
export interface Palette {
  readonly table: Uint16Array;
  readonly placeOf: Uint8Array;
}

const HALVES = 0x10000;
/** Where halves stand in the order of their values. */
const ordered = (bits: number): number => ((bits & 0x8000) === 0 ? bits | 0x8000 : ~bits & 0xffff);
const bitsAt = (place: number): number => ((place & 0x8000) === 0 ? ~place & 0xffff : place & 0x7fff);
const isFinite16 = (bits: number): boolean => (bits & 0x7c00) !== 0x7c00;

/** Rounds of k-means; from where it starts, most tables settle in fewer. */
const MOST_ROUNDS = 24;
/** A round that gains less of the error is the last. */
const LEAST_GAIN = 1e-3;

/** Halves counted by their bits, with room for the means over them: 4 MB, used for one table after the other. */
export class HalfCounts {
  readonly #counts = new Uint32Array(HALVES);
  /** A bit for each half that was met, in the order of values: so that few are looked at when few were met. */
  readonly #met = new Uint32Array(HALVES / 32);
  readonly #placeOf = new Uint8Array(HALVES);
  readonly #line = new CountedLine();
  readonly #finite = new Uint16Array(HALVES);

  add(halves: Uint16Array): void {
    const [counts, met] = [this.#counts, this.#met];
    for (let i = 0; i < halves.length; i++) {
      const bits = halves[i] as number;
      const before = counts[bits] as number;
      counts[bits] = before + 1;
      if (before !== 0) continue;
      const place = ordered(bits);
      met[place >> 5] = (met[place >> 5] as number) | (1 << (place & 31));
    }
  }

  clear(): void {
    this.#counts.fill(0);
    this.#met.fill(0);
  }

  /** The palette with this many values. What is not finite keeps a place of its own. The next call uses `placeOf` again. */
  palette(size: number): Palette {
    const half = f16Table();
    const [finite, line] = [this.#finite, this.#line];
    const others: number[] = [];
    let count = 0;
    for (let word = 0; word < this.#met.length; word++)
      for (let left = this.#met[word] as number; left !== 0; left &= left - 1) {
        const bits = bitsAt(word * 32 + 31 - Math.clz32(left & -left));
        if (!isFinite16(bits)) others.push(bits);
        else {
          line.set(count, half[bits] as number, this.#counts[bits] as number);
          finite[count++] = bits;
        }
      }
    const kinds = [...new Set(others.map(kindOf))];
    const room = size - kinds.length;
    const values = count <= room ? [...finite.subarray(0, count)] : line.means(count, room).map(f32ToF16);
    const table = new Uint16Array(size);
    table.set(values);
    table.fill(values.at(-1) ?? 0, values.length);
    table.set(kinds, room);
    this.#assign(finite.subarray(0, count), values);
    for (const bits of others) this.#placeOf[bits] = room + kinds.indexOf(kindOf(bits));
    return { table, placeOf: this.#placeOf };
  }

  /** Each half goes to the value that is nearest. */
  #assign(bits: Uint16Array, values: readonly number[]): void {
    const [half, placeOf] = [f16Table(), this.#placeOf];
    const numbers = Float64Array.from([...values.map((value) => half[value] as number), Infinity]);
    let at = 0;
    for (let i = 0; i < bits.length; i++) {
      const own = bits[i] as number;
      const value = half[own] as number;
      while ((numbers[at + 1] as number) - value < Math.abs(value - (numbers[at] as number))) at++;
      placeOf[own] = at;
    }
  }
}

/** Infinities by sign; all that is not a number is one. */
const kindOf = (bits: number): number => ((bits & 0x3ff) === 0 ? bits : 0x7e00);

/** Sorted values with counts, and k-means over them: each round takes the mean of what is nearest to each. */
class CountedLine {
  readonly #values = new Float64Array(HALVES);
  /** Sums of counts, of values and of their squares up to each. */
  readonly #many = new Float64Array(HALVES + 1);
  readonly #sums = new Float64Array(HALVES + 1);
  readonly #squares = new Float64Array(HALVES + 1);

  /** Values come in their order. */
  set(i: number, value: number, count: number): void {
    this.#values[i] = value;
    this.#many[i + 1] = (this.#many[i] as number) + count;
    this.#sums[i + 1] = (this.#sums[i] as number) + count * value;
    this.#squares[i + 1] = (this.#squares[i] as number) + count * value * value;
  }

  /** At most `size` means of the first n values. */
  means(n: number, size: number): number[] {
    const [many, sums, squares] = [this.#many, this.#sums, this.#squares];
    const means = this.#starts(n, size);
    let before = Infinity;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      let [error, from] = [0, 0];
      for (let k = 0; k < means.length; k++) {
        const next = means[k + 1];
        const to = next === undefined ? n : this.#firstAbove(((means[k] as number) + next) / 2, from, n);
        const count = (many[to] as number) - (many[from] as number);
        if (count > 0) {
          const sum = (sums[to] as number) - (sums[from] as number);
          means[k] = sum / count;
          error += (squares[to] as number) - (squares[from] as number) - (sum * sum) / count;
        }
        from = to;
      }
      if (error >= before * (1 - LEAST_GAIN)) break;
      before = error;
    }
    return means;
  }

  /** First place of `from` … `end` whose value is above the limit. */
  #firstAbove(limit: number, from: number, end: number): number {
    let [low, high] = [from, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#values[middle] as number) > limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * A table of many values would have them as dense as the cube root of the density: quantiles of that over its width, which is
   * count^(1/3) · width^(2/3).
   */
  #starts(n: number, size: number): number[] {
    const values = this.#values;
    const passed = new Float64Array(n);
    let total = 0;
    for (let i = 0; i < n; i++) {
      const width = ((values[Math.min(n - 1, i + 1)] as number) - (values[Math.max(0, i - 1)] as number)) / 2;
      const count = (this.#many[i + 1] as number) - (this.#many[i] as number);
      total += Math.cbrt(count * width * width);
      passed[i] = total;
    }
    const starts: number[] = [];
    for (let i = 0; i < n && starts.length < size; i++) {
      const due = (passed[i] as number) >= ((starts.length + 0.5) * total) / size;
      // As many values must be left as there are places.
      if (due || n - i <= size - starts.length) starts.push(values[i] as number);
    }
    return starts;
  }
}

/** Places as a stream of bits, the lowest first; so many that they fill whole bytes. */
export function packPlaces(halves: Uint16Array, placeOf: Uint8Array, bits: PaletteForm["bits"], out: Uint8Array): void {
  const place = (i: number): number => placeOf[halves[i] as number] as number;
  if (bits === 8) for (let i = 0; i < halves.length; i++) out[i] = place(i);
  else if (bits === 4) for (let i = 0; i < out.length; i++) out[i] = place(2 * i) | (place(2 * i + 1) << 4);
  else
    for (let i = 0, at = 0; i < halves.length; i += 4, at += 3) {
      const word = place(i) | (place(i + 1) << 6) | (place(i + 2) << 12) | (place(i + 3) << 18);
      out[at] = word & 0xff;
      out[at + 1] = (word >> 8) & 0xff;
      out[at + 2] = word >> 16;
    }
}

/** The halves that stored places stand for, as bits. */
export function unpackPalette(
  { bits, perTable, rows }: PaletteForm,
  places: Uint8Array,
  tables: Uint16Array,
  from: number,
  count: number,
): Uint16Array {
  const out = new Uint16Array(count);
  const mask = 2 ** bits - 1;
  for (let i = 0; i < count; i++) {
    const at = (from + i) * bits;
    const word = (places[at >> 3] as number) | ((places[(at >> 3) + 1] ?? 0) << 8);
    const table = rows === undefined ? 0 : Math.floor((from + i) / perTable);
    out[i] = tables[table * (mask + 1) + ((word >> (at & 7)) & mask)] as number;
  }
  return out;
}
