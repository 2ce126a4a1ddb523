/**
 * What the records of compiles say together: how long a load will take by the loads before it, the list of models with their last
 * results, whether the system changed since, and what an update changed. Pure functions over records, the newest first.
 */
import type {
  CompileChange,
  CompileEstimate,
  CompileFailure,
  CompileRecord,
  CompileRow,
  CompileSystem,
  VerifyRecord,
} from "../../contract/views/compiles.ts";
import { compileRecord, secondsText } from "../../contract/views/compiles.ts";
import type { HistoryEntry } from "../../contract/views/session.ts";

/** A record with what it is about. */
export interface LedgerEntry {
  readonly at: number;
  readonly title: string;
  readonly identity: string;
  readonly record: CompileRecord;
}

/** Entries of the history that are records; others are of another version. */
export const ledgerOf = (entries: readonly HistoryEntry[]): readonly LedgerEntry[] =>
  entries.flatMap(({ at, model, value }) => {
    const read = compileRecord.safeParse(value);
    return read.success ? [{ at, title: model.title, identity: model.identity, record: read.data }] : [];
  });

export const systemText = ({ os, osBuild }: Pick<CompileSystem, "os" | "osBuild">): string =>
  `macOS ${os}${osBuild === "" ? "" : ` (${osBuild})`}`;

export const sameSystem = (a: CompileSystem, b: CompileSystem): boolean =>
  a.chip === b.chip && a.os === b.os && a.osBuild === b.osBuild;

// ------------------------------------------------------------------------------------------- how long

export interface LoadQuestion {
  readonly identity: string;
  readonly target: string;
  readonly units: CompileRecord["units"];
  /** Every function together where it is not given. */
  readonly function?: string;
  readonly system: CompileSystem;
}

const median = (sorted: readonly number[]): number => {
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
};

/** Ended loads of the same model, target and units on this chip: those of this system, or else of others. */
export function estimateLoad(entries: readonly LedgerEntry[], question: LoadQuestion): CompileEstimate {
  const { identity, target, units, system } = question;
  const alike = entries.filter(
    ({ identity: own, record }) =>
      own === identity &&
      record.result === "ok" &&
      record.target === target &&
      record.units === units &&
      record.chip === system.chip &&
      (question.function === undefined || record.function === question.function),
  );
  const here = alike.filter(({ record }) => sameSystem(record, system));
  const used = here.length > 0 ? here : alike;
  const times = sumsByLoad(used, question.function === undefined).sort((a, b) => a - b);
  const [low, high] = [times[0], times.at(-1)];
  if (low === undefined || high === undefined)
    return { seconds: null, count: 0, sentence: "No earlier load of it on this Mac: no time is known." };
  const seconds = { low, typical: median(times), high };
  const [least, most] = [secondsText(low), secondsText(high)];
  const range = least === most ? `About ${least}` : `About ${secondsText(seconds.typical)} (${least} to ${most})`;
  const others = used === here ? "" : ", under another build of macOS";
  const count = times.length;
  return {
    seconds,
    count,
    sentence: `${range}, from ${count} earlier ${count === 1 ? "load" : "loads"} on this Mac${others}.`,
  };
}

/** The n-th load of a package is the n-th of each of its functions: their times are added. */
function sumsByLoad(entries: readonly LedgerEntry[], together: boolean): number[] {
  if (!together) return entries.map(({ record }) => record.seconds);
  const byFunction = new Map<string, number[]>();
  for (const { record } of entries)
    byFunction.set(record.function, [...(byFunction.get(record.function) ?? []), record.seconds]);
  const lists = [...byFunction.values()];
  const loads = Math.min(...lists.map((list) => list.length));
  if (lists.length === 0) return [];
  return Array.from({ length: loads }, (_, i) => lists.reduce((sum, list) => sum + (list[i] ?? 0), 0));
}

// ---------------------------------------------------------------------------------------- what is there

export interface RowFacts {
  /** Compiled models that are still on disk, by the hash of their content. */
  readonly kept: ReadonlySet<string>;
  /** The verdict that keeps a model from being loaded, by the key of its row. */
  readonly unsafe: (record: CompileRecord) => string | null;
  readonly system: CompileSystem | null;
}

const rowKey = ({ identity, record }: LedgerEntry): string =>
  [identity, record.content, record.function, record.units].join("\n");

export function ledgerRows(entries: readonly LedgerEntry[], facts: RowFacts): CompileRow[] {
  const groups = new Map<string, LedgerEntry[]>();
  for (const entry of entries) {
    const group = groups.get(rowKey(entry));
    if (group === undefined) groups.set(rowKey(entry), [entry]);
    else group.push(entry);
  }
  return [...groups.values()].flatMap((group) => {
    const [last] = group;
    if (last === undefined) return [];
    const { title, identity, record, at } = last;
    const { content, units, target } = record;
    const question = { identity, target, units, function: record.function, system: facts.system ?? record };
    return [
      {
        ...{ title, identity, content, units, target },
        function: record.function,
        loads: group.length,
        last: record,
        lastAt: at,
        estimate: estimateLoad(entries, question),
        kept: facts.kept.has(content),
        unsafe: facts.unsafe(record),
      },
    ];
  });
}

/** The system of the last loads, where it is another than this one. */
export function systemBefore(entries: readonly LedgerEntry[], now: CompileSystem): CompileSystem | undefined {
  const last = entries.find(({ record }) => record.chip === now.chip)?.record;
  if (last === undefined || sameSystem(last, now)) return undefined;
  return { chip: last.chip, os: last.os, osBuild: last.osBuild };
}

export const changedSentence = (before: CompileSystem, now: CompileSystem): string =>
  `${systemText(now)} runs here now; the last loads were on ${systemText(before)}. The system’s own cache of compiled models is empty after an update, so each model’s next load takes as long as its first.`;

// ---------------------------------------------------------------------------------------- what changed

const RESULTS: Readonly<Record<CompileRecord["result"], string>> = {
  ok: "loads",
  failed: "fails",
  killed: "ends its helper",
  cancelled: "was cancelled",
};

const failureText = (failure: CompileFailure | null): string => (failure === null ? "" : `: ${failure.title}`);
const resultText = (record: CompileRecord): string =>
  `${RESULTS[record.result]}${record.stage === null || record.result === "ok" ? "" : ` in ${record.stage}`}${failureText(record.failure)}`;

/** Times change by themselves; twice as long, or half, is worth a line. */
const LONGER = 2;
/** A load of less is not worth one. */
const SHORT_SECONDS = 2;
/** Shares of the plan that differ by more. */
const MOVED = 0.02;

const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;
const PROCESSORS = { ane: "Neural Engine", gpu: "GPU", cpu: "CPU" } as const;

/** What differs between the last record of a model before and the one that was just made. */
export function changesOf(title: string, before: CompileRecord, after: CompileRecord): CompileChange[] {
  const what = `${title}${after.function === "" ? "" : `, ${after.function}`} on ${after.units}`;
  const changes: CompileChange[] = [];
  const [was, is] = [resultText(before), resultText(after)];
  if (was !== is) changes.push({ what, before: was, after: is, worse: rank(after) > rank(before) });
  if (before.result !== "ok" || after.result !== "ok") return changes;
  if (
    Math.max(before.seconds, after.seconds) >= SHORT_SECONDS &&
    (after.seconds > before.seconds * LONGER || before.seconds > after.seconds * LONGER)
  )
    changes.push({
      what: `${what}: first load`,
      before: secondsText(before.seconds),
      after: secondsText(after.seconds),
      worse: after.seconds > before.seconds,
    });
  if (before.plan !== null && after.plan !== null)
    for (const unit of ["ane", "gpu", "cpu"] as const)
      if (Math.abs(before.plan[unit] - after.plan[unit]) > MOVED)
        changes.push({
          what: `${what}: share planned for the ${PROCESSORS[unit]}`,
          before: percent(before.plan[unit]),
          after: percent(after.plan[unit]),
          worse: unit === "ane" ? after.plan.ane < before.plan.ane : unit === "cpu" && after.plan.cpu > before.plan.cpu,
        });
  return changes;
}

/** ok, ok beside a failure, failed, killed. */
const rank = ({ result, failure }: CompileRecord): number =>
  result === "ok" ? (failure === null ? 0 : 1) : result === "killed" ? 3 : 2;

export function changedAnswers(before: VerifyRecord, after: VerifyRecord): CompileChange[] {
  return after.answers.flatMap(({ id, answer }) => {
    const was = before.answers.find((one) => one.id === id)?.answer;
    if (was === undefined || was === answer) return [];
    return [{ what: `Question ${id}`, before: was, after: answer, worse: was === "yes" }];
  });
}
