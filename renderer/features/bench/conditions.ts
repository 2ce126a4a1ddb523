/** The state of the machine before and after a benchmark, a row for each thing that it tells; "a → b" where it changed. */
import type { Reading } from "../../../main/contract/views/machine.ts";
import type { BenchResult } from "./slice.ts";

export interface ConditionRow {
  readonly title: string;
  readonly text: string;
  readonly source: string;
  readonly flagged: boolean;
}

/** A benchmark makes load itself: only what was there before it is the others'. */
const BEFORE_ONLY: readonly Reading["id"][] = ["load"];

export function conditionRows({ before, after }: BenchResult["conditions"]): readonly ConditionRow[] {
  return before.readings.map((first) => {
    const last = BEFORE_ONLY.includes(first.id) ? first : (after.readings.find(({ id }) => id === first.id) ?? first);
    const [a, b] = [first.value, last.value];
    return {
      title: first.title,
      text: a === null ? first.source : a === b || b === null ? a : `${a} → ${b}`,
      source: first.source,
      flagged: first.state === "warning" || last.state === "warning",
    };
  });
}
