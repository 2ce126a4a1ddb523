/** The state of the machine before and after a benchmark, a row for each thing that it tells; "a → b" where it changed. */
import type { Reading } from "../../../main/contract/views/machine.ts";
import type { BenchResult } from "./slice.ts";

export interface ConditionRow {
  readonly title: string;
  readonly text: string;
  readonly source: string;
  readonly flagged: boolean;
}

/** A benchmark makes load itself: only the load before it counts as foreign. */
const BEFORE_ONLY: readonly Reading["id"][] = ["load"];

/** A device's own memory is of interest where that device was measured: as it was at the end, one row. */
function memoryRow(readings: readonly Reading[], of: string): readonly ConditionRow[] {
  const told = readings.filter(({ device, value }) => device === of && value !== null);
  const text = told.map(({ title, value }) => `${title} ${value ?? ""}`);
  return told.length === 0
    ? []
    : [{ title: "Device memory", text: text.join(", "), source: told[0]?.source ?? "", flagged: false }];
}

export function conditionRows({
  conditions: { before, after },
  device,
}: Pick<BenchResult, "conditions" | "device">): readonly ConditionRow[] {
  const machine = before.readings
    .filter((reading) => reading.device === undefined)
    .map((first) => {
      const last = BEFORE_ONLY.includes(first.id) ? first : (after.readings.find(({ id }) => id === first.id) ?? first);
      const [a, b] = [first.value, last.value];
      return {
        title: first.title,
        text: a === null ? first.source : a === b || b === null ? a : `${a} → ${b}`,
        source: first.source,
        flagged: first.state === "warning" || last.state === "warning",
      };
    });
  /** What was not told before it began. */
  const later = after.readings
    .filter((reading) => reading.device === undefined && !before.readings.some(({ id }) => id === reading.id))
    .map(({ title, value, source, state }) => ({
      ...{ title, text: value ?? source, source, flagged: state === "warning" },
    }));
  return [...machine, ...later, ...memoryRow(after.readings, device)];
}
