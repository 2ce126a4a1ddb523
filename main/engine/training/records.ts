/** Runs that are kept: a record as JSON, which is read again as text of any origin. A run of another process that fell silent was interrupted. */
import { z } from "zod";
import type { TrainRow, TrainRun } from "../../contract/views/train.ts";
import { trainRun } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { TrainingRuns } from "../services.ts";
import { COLUMNS } from "./curves.ts";

/** A run that goes on is saved so often; one that was not for three times as long has lost its process. */
export const SAVE_EVERY_MS = 10_000;
const SILENT_MS = 3 * SAVE_EVERY_MS;

/** JSON has no NaN. */
const column = z
  .array(z.number().nullable())
  .max(10_000)
  .transform((values) => Float64Array.from(values, (value) => value ?? NaN));

const record = z.object({
  format: z.literal("rlx-training"),
  version: z.literal(1),
  savedAt: z.number(),
  run: trainRun.extend({ curve: z.object({ step: column, loss: column, rate: column, norm: column, scale: column }) }),
});

export const recordText = (run: TrainRun): string =>
  JSON.stringify({
    format: "rlx-training",
    version: 1,
    savedAt: Date.now(),
    run: { ...run, curve: Object.fromEntries(COLUMNS.map((name) => [name, Array.from(run.curve[name])])) },
  });

function readRecord(id: string, text: string): TrainRun {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const read = record.safeParse(value);
  if (!read.success)
    throw new WorkbenchError("INPUT_MALFORMED", `[train] run ${id}: its record is damaged`, { hint: "Forget it." });
  const { run, savedAt } = read.data;
  const isSilent = Date.now() - savedAt > SILENT_MS;
  const isOpen = run.row.state === "running" || run.row.state === "paused";
  return { ...run, row: { ...run.row, run: id, state: isOpen && isSilent ? "interrupted" : run.row.state } };
}

export const loadRun = async (runs: TrainingRuns, id: string): Promise<TrainRun> => readRecord(id, await runs.load(id));

export async function listRuns(
  runs: TrainingRuns,
  limit: number,
  own: (id: string) => TrainRow | undefined,
): Promise<{ runs: TrainRow[]; damaged: number }> {
  const rows: TrainRow[] = [];
  let damaged = 0;
  for (const id of await runs.list()) {
    if (rows.length >= limit) break;
    const row =
      own(id) ??
      (await loadRun(runs, id).then(
        (run) => run.row,
        () => undefined,
      ));
    if (row === undefined) damaged += 1;
    else rows.push(row);
  }
  return { runs: rows.sort((a, b) => b.at - a.at), damaged };
}
