/** The settings in which runs differ, as rows of a table. */
import type { TrainRun, TrainSettings } from "../../../main/contract/views/train.ts";
import { count } from "../../ui/format.ts";
import { lossText, speedText, STATES } from "./words.ts";

export interface DifferenceRow {
  readonly name: string;
  /** One for each run; "–": this run has no such setting. */
  readonly values: readonly string[];
}

type Leaf = string | number | boolean | null;
const NAMES: Readonly<Record<string, string>> = {
  lr: "learning rate",
  "optimizer.name": "optimizer",
  "schedule.kind": "schedule",
  "schedule.warmUp": "warm-up",
  "schedule.to": "last rate",
  "clip.norm": "longest gradient",
  "clip.value": "largest number in it",
  "validation.every": "validated every",
  "validation.share": "kept for validation",
  "sample.every": "written every",
  accumulate: "batches of an update",
  average: "average of the weights",
  "norms.every": "gradients looked at every",
};

/** "fields.rank" reads "rank". */
const nameOf = (key: string): string => NAMES[key] ?? key.replace(/^(fields|optimizer\.options)\./u, "");

function leavesOf(value: unknown, key: string, into: Map<string, Leaf>): void {
  if (typeof value === "object" && value !== null)
    for (const [name, each] of Object.entries(value)) leavesOf(each, key === "" ? name : `${key}.${name}`, into);
  else into.set(key, value as Leaf);
}

const settingsOf = (settings: TrainSettings): ReadonlyMap<string, Leaf> => {
  const leaves = new Map<string, Leaf>();
  leavesOf(settings, "", leaves);
  return leaves;
};

const text = (value: Leaf | undefined): string =>
  value === undefined || value === null ? "–" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);

/** In the order in which the settings stand; none where all are alike. */
export function differingSettings(runs: readonly Pick<TrainRun, "settings" | "row">[]): readonly DifferenceRow[] {
  const all = runs.map(({ settings, row }) => new Map([["recipe", row.recipe], ...settingsOf(settings)]));
  const keys = new Set(all.flatMap((each) => [...each.keys()]));
  return [...keys].flatMap((key) => {
    const values = all.map((each) => text(each.get(key)));
    return new Set(values).size > 1 ? [{ name: nameOf(key), values }] : [];
  });
}

/** How the runs went: always shown. */
export const outcomes = (runs: readonly Pick<TrainRun, "row">[]): readonly DifferenceRow[] => [
  { name: "state", values: runs.map(({ row }) => STATES[row.state]) },
  { name: "steps", values: runs.map(({ row }) => count(row.step)) },
  { name: "loss", values: runs.map(({ row }) => lossText(row.loss)) },
  { name: "validation", values: runs.map(({ row }) => lossText(row.validation)) },
  { name: "speed", values: runs.map(({ row }) => speedText(row.stepsPerSecond)) },
];
