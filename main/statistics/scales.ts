/** How the scales and minimums of a packed tensor's blocks are spread: x = scale · q + minimum, for each group of values. */
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { isPacked } from "../ir/dtype.ts";
import { blockGroups } from "../quant/groups.ts";
import type { BlockGroups } from "../quant/groups.ts";
import { countBars, join } from "./measureRows.ts";
import type { Histogram, ScanOptions } from "./scan.ts";
import { piecesOf } from "./scan.ts";

export interface Spread {
  readonly what: "scale" | "minimum";
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly notFinite: number;
  readonly histogram: Histogram | null;
}

type Reading = Pick<ScanOptions, "signal" | "onBytes">;

/** Scales first; empty for a type without blocks. */
export async function scalesOf(
  file: GgufFile,
  tensor: GgufTensor,
  { bars, ...reading }: Reading & { readonly bars: number },
): Promise<readonly Spread[]> {
  const { element, blockBytes } = tensor.type;
  const groups = element !== undefined && isPacked(element) ? blockGroups(element) : undefined;
  if (groups === undefined) return [];
  const sums = [new SpreadSums("scale"), ...(groups.hasMinimums ? [new SpreadSums("minimum")] : [])];
  const each = async (take: (sums: SpreadSums, values: Float32Array) => void): Promise<void> => {
    for await (const { bytes } of piecesOf(file, tensor, reading))
      readGroups(bytes, blockBytes, groups).forEach((values, i) => {
        const own = sums[i];
        if (own !== undefined) take(own, values);
      });
  };
  await each((own, values) => own.add(values));
  await each((own, values) => own.count(values, bars));
  return sums.map((own) => own.spread());
}

/** The scales, and the minimums, of all blocks of a piece. */
function readGroups(bytes: Uint8Array, blockBytes: number, { count, read }: BlockGroups): readonly Float32Array[] {
  const blocks = bytes.byteLength / blockBytes;
  const all = [new Float32Array(blocks * count), new Float32Array(blocks * count)] as const;
  const [scales, minimums] = [new Float32Array(count), new Float32Array(count)];
  for (let block = 0; block < blocks; block++) {
    read(bytes, block * blockBytes, scales, minimums);
    all[0].set(scales, block * count);
    all[1].set(minimums, block * count);
  }
  return all;
}

class SpreadSums {
  readonly what: Spread["what"];
  readonly #all = { count: 0, mean: 0, spread: 0 };
  #min = Infinity;
  #max = -Infinity;
  #zeros = 0;
  #notFinite = 0;
  #counts = new Float64Array();

  constructor(what: Spread["what"]) {
    this.what = what;
  }

  add(values: Float32Array): void {
    let [sum, count] = [0, 0];
    for (const value of values) {
      if (value - value !== 0) {
        this.#notFinite++;
        continue;
      }
      sum += value;
      count++;
      if (value === 0) this.#zeros++;
      if (value < this.#min) this.#min = value;
      if (value > this.#max) this.#max = value;
    }
    if (count === 0) return;
    const mean = sum / count;
    let spread = 0;
    for (const value of values) if (value - value === 0) spread += (value - mean) ** 2;
    join(this.#all, { count, mean, spread });
  }

  count(values: Float32Array, bars: number): void {
    if (this.#counts.length === 0) this.#counts = new Float64Array(bars);
    countBars(values, { from: this.#min, to: this.#max, bars }, this.#counts);
  }

  spread(): Spread {
    const { count, mean, spread } = this.#all;
    const [min, max] = count === 0 ? [0, 0] : [this.#min, this.#max];
    return {
      ...{ what: this.what, count, min, max, mean },
      std: count === 0 ? 0 : Math.sqrt(spread / count),
      zeros: this.#zeros,
      notFinite: this.#notFinite,
      histogram: count === 0 ? null : { from: min, to: max, counts: [...this.#counts] },
    };
  }
}
