/**
 * Which of several files of one model to take: the fastest whose answers stay close to the reference's. Closeness is the mean KL
 * divergence over a text, never the error of the weights.
 */
import type { BenchResult, BenchTest } from "./views/bench.ts";
import type { QualityFile, QualityResult } from "./views/quality.ts";

/** In nats. Files of about five bits per weight and more lie below it. */
export const CLOSE = 0.05;

export interface ChoiceRow extends QualityFile {
  /** Median tokens per second; null without a measurement. */
  readonly prefill: number | null;
  readonly decode: number | null;
  /** Its mean divergence is at most the bound. The reference is. */
  readonly close: boolean;
  /** Another file is at least as close and as fast, and better in one of them. */
  readonly beaten: boolean;
}

export interface Choice {
  readonly rows: readonly ChoiceRow[];
  /** Its place among the rows; null where no speed was measured, or where its conditions forbid a verdict. */
  readonly taken: number | null;
  readonly sentence: string;
}

export function choose(quality: QualityResult, speed: BenchResult | null, close: number = CLOSE): Choice {
  const isRed = speed !== null && speed.red.length > 0;
  const plain = quality.files.map((file) => ({
    ...file,
    prefill: rateOf(speed, file.model, "pp"),
    decode: rateOf(speed, file.model, "tg"),
    close: distanceOf(file) <= close,
  }));
  const rows = plain.map((row) => ({ ...row, beaten: !isRed && plain.some((other) => beats(other, row)) }));
  if (speed === null) return { rows, taken: null, sentence: "No speed was measured." };
  if (isRed)
    return {
      rows,
      taken: null,
      sentence: `No verdict on speed: ${speed.red.join("; ")}. Measure again in a quiet machine.`,
    };
  const taken = rows.reduce<number | null>((best, row, at) => {
    if (!row.close || row.decode === null) return best;
    return best === null || row.decode > (rows[best]?.decode ?? 0) ? at : best;
  }, null);
  return { rows, taken, sentence: sentenceOf(rows, taken, close) };
}

const distanceOf = (file: QualityFile): number => file.divergence?.mean ?? 0;

function rateOf(speed: BenchResult | null, model: string, kind: BenchTest["test"]): number | null {
  const subject = speed?.subjects.findIndex((each) => each.model === model) ?? -1;
  return speed?.tests.find((test) => test.test === kind && test.subject === subject)?.rate.value ?? null;
}

type Measured = Omit<ChoiceRow, "beaten">;

function beats(other: Measured, row: Measured): boolean {
  if (other.decode === null || row.decode === null) return false;
  const [near, far] = [distanceOf(other), distanceOf(row)];
  return near <= far && other.decode >= row.decode && (near < far || other.decode > row.decode);
}

function sentenceOf(rows: readonly ChoiceRow[], taken: number | null, close: number): string {
  const [reference] = rows;
  const row = taken === null ? undefined : rows[taken];
  if (row === undefined || reference === undefined) return "No speed was measured.";
  if (row === reference) return `Take ${row.title}: no faster file stays within ${close} nats of it.`;
  const times = (row.decode ?? NaN) / (reference.decode ?? NaN);
  const same = `${((row.sameTop ?? 0) * 100).toFixed(0)} % of the likeliest tokens are the same`;
  const speed = Number.isFinite(times) ? `${times.toFixed(2)} × the speed of ${reference.title}` : "the fastest";
  return `Take ${row.title}: ${speed}, and ${same} (KL ${distanceOf(row).toPrecision(2)} nats).`;
}
