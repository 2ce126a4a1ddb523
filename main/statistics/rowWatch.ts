/** Follows the rows of a tensor in their order: which are nothing but zeros or hold values that are no numbers, in which experts. */
import type { GgufTensor } from "../formats/gguf/file.ts";
import type { MeasuredRows } from "../ir/measure.ts";
import { ROW_NOT_FINITE, ROW_OF_ZEROS } from "../ir/measure.ts";
import type { WorstRow } from "./measureRows.ts";
import { keepWorse, NO_WORST } from "./measureRows.ts";

/** How many there are, and the first of them. */
export interface Experts {
  readonly count: number;
  readonly first: readonly number[];
}

/** Experts that are kept by name. */
const NAMED = 8;

class ExpertList implements Experts {
  count = 0;
  readonly first: number[] = [];
  add(expert: number): void {
    this.count++;
    if (this.first.length < NAMED) this.first.push(expert);
  }
}

export class RowWatch {
  deadRows = 0;
  firstDead = -1;
  readonly badExperts = new ExpertList();
  /** Nothing but zeros. */
  readonly deadExperts = new ExpertList();
  worst: WorstRow = NO_WORST;
  readonly #columns: number;
  /** Of an expert; all of them where there are no experts. */
  readonly #rows: number;
  readonly #hasExperts: boolean;
  #expert = { index: -1, dead: 0, isBad: false };
  /** A row that comes in parts: what is known of it. */
  #part = { ...NO_WORST, isDead: true, isBad: false };

  constructor({ dims }: GgufTensor) {
    const [columns = 1, rows = 1] = dims;
    this.#columns = columns;
    this.#rows = rows;
    this.#hasExperts = dims.length >= 3;
  }

  /** Whole rows, or a part of one; `at` is the place of their first value. */
  take(at: number, width: number, { flags, distance }: Pick<MeasuredRows, "flags" | "distance">): void {
    const row = Math.floor(at / this.#columns);
    if (width < this.#columns) {
      this.#takePart(row, at + width === (row + 1) * this.#columns, flags[0] ?? 0, distance);
      return;
    }
    flags.forEach((flag, i) => {
      if (flag !== 0) this.#mark(row + i, flag);
    });
    if (distance !== null && distance.worstRow >= 0)
      this.#keepWorse({ ...distance, worstRow: row + distance.worstRow });
  }

  end(): void {
    this.#closeExpert();
  }

  #takePart(row: number, isLast: boolean, flag: number, distance: MeasuredRows["distance"]): void {
    const part = this.#part;
    part.isDead &&= flag === ROW_OF_ZEROS;
    part.isBad ||= flag === ROW_NOT_FINITE;
    const compared = distance !== null && distance.compared > 0;
    this.#part = {
      ...part,
      worstRow: compared ? row : part.worstRow,
      worstError: part.worstError + (distance?.error ?? 0),
      worstEnergy: part.worstEnergy + (distance?.energy ?? 0),
    };
    if (!isLast) return;
    if (part.isBad || part.isDead) this.#mark(row, part.isBad ? ROW_NOT_FINITE : ROW_OF_ZEROS);
    this.#keepWorse(this.#part);
    this.#part = { ...NO_WORST, isDead: true, isBad: false };
  }

  #keepWorse({ worstRow, worstError, worstEnergy }: WorstRow): void {
    const worst = { ...this.worst };
    keepWorse(worst, { worstRow, worstError, worstEnergy });
    this.worst = worst;
  }

  #mark(row: number, flag: number): void {
    const index = Math.floor(row / this.#rows);
    if (index !== this.#expert.index) {
      this.#closeExpert();
      this.#expert = { index, dead: 0, isBad: false };
    }
    if (flag === ROW_NOT_FINITE) this.#expert.isBad = true;
    if (flag !== ROW_OF_ZEROS) return;
    this.#expert.dead++;
    this.deadRows++;
    if (this.firstDead < 0) this.firstDead = row * this.#columns;
  }

  #closeExpert(): void {
    const { index, dead, isBad } = this.#expert;
    if (index < 0 || !this.#hasExperts) return;
    if (isBad) this.badExperts.add(index);
    if (dead === this.#rows) this.deadExperts.add(index);
    this.#expert = { index: -1, dead: 0, isBad: false };
  }
}
