/**
 * Work that writes files, as a stream: steps of the work become items and move the job on, and the
 * report becomes the last item. Export, quantisation, conversion and importance matrices share it.
 */
import type { Job } from "../../contract/views/engine.ts";
import { settledStream } from "../progressStream.ts";
import type { Jobs } from "../jobs.ts";

export interface WritingStep<Item> {
  readonly item: Item;
  /** What the job says it does, and how far it is. */
  readonly phase: string;
  readonly fraction: number | null;
}

export interface Writing<Step, Report, Item> {
  readonly jobs: Jobs;
  readonly kind: Job["kind"];
  readonly title: string;
  readonly model: string;
  /** Writes everything; what it left half written is gone when it settles. */
  readonly work: (emit: (step: Step) => void) => Promise<Report>;
  readonly step: (step: Step) => WritingStep<Item>;
  readonly done: (report: Report) => Item | Promise<Item>;
}

export async function* writing<Step, Report, Item>({
  jobs,
  kind,
  title,
  model,
  work,
  step,
  done,
}: Writing<Step, Report, Item>): AsyncGenerator<Item> {
  const job = jobs.start(kind, title, model);
  try {
    const report = yield* settledStream<Item, Report>((emit) =>
      work((made) => {
        const { item, phase, fraction } = step(made);
        job.update(phase, fraction);
        emit(item);
      }),
    );
    yield await done(report);
  } finally {
    job.end();
  }
}

/** A step of bytes that are being written. */
export const bytesStep = <const Item extends { readonly doneBytes: number; readonly totalBytes: number }>(
  item: Item,
): WritingStep<Item> => ({ item, phase: "writing", fraction: item.doneBytes / Math.max(1, item.totalBytes) });

/** Seconds since now, each time that it is asked. */
export function stopwatch(): () => number {
  const started = performance.now();
  return () => (performance.now() - started) / 1000;
}
