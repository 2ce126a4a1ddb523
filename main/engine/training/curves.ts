/**
 * The curve of a run in bounded memory: points are means over so many steps each. Where there would be too many points, two
 * neighbours become one, and each stands for twice as many steps.
 */
import { CURVE_POINTS } from "../../contract/views/train.ts";

export const COLUMNS = ["step", "loss", "rate", "norm", "scale"] as const;
export type Column = (typeof COLUMNS)[number];
export type Step = Readonly<Record<Column, number>>;
export type Columns = Readonly<Record<Column, Float64Array>>;

interface Point {
  /** The last one. */
  readonly step: number;
  readonly sums: Step;
  readonly count: number;
}

const merged = (a: Point, b: Point): Point => ({
  step: b.step,
  count: a.count + b.count,
  sums: rowOf((column) => a.sums[column] + b.sums[column]),
});

const rowOf = (value: (column: Column) => number): Step => ({
  step: value("step"),
  loss: value("loss"),
  rate: value("rate"),
  norm: value("norm"),
  scale: value("scale"),
});

export class Curve {
  readonly #most: number;
  #points: Point[] = [];
  #stride = 1;

  constructor(most = CURVE_POINTS) {
    this.#most = most;
  }

  add(step: Step): void {
    const last = this.#points.at(-1);
    const point = { step: step.step, sums: step, count: 1 };
    if (last !== undefined && last.count < this.#stride) this.#points[this.#points.length - 1] = merged(last, point);
    else this.#points.push(point);
    if (this.#points.length <= this.#most) return;
    const pairs: Point[] = [];
    for (let i = 0; i < this.#points.length; i += 2) {
      const [a, b] = [this.#points[i], this.#points[i + 1]];
      if (a !== undefined) pairs.push(b === undefined ? a : merged(a, b));
    }
    this.#points = pairs;
    this.#stride *= 2;
  }

  columns(): Columns {
    return columnsOf(
      this.#points.map(({ step, sums, count }) => ({ ...rowOf((column) => sums[column] / count), step })),
    );
  }
}

export function columnsOf(steps: readonly Step[]): Columns {
  const column = (name: Column): Float64Array => Float64Array.from(steps, (step) => step[name]);
  return {
    step: column("step"),
    loss: column("loss"),
    rate: column("rate"),
    norm: column("norm"),
    scale: column("scale"),
  };
}
