/**
 * What every form that writes a model keeps, and what it can do: a plan and a path, then progress
 * with cancel, then the report. A feature says what is planned, what is streamed, and where in its
 * slice this lies.
 */
import type { WritePlan } from "../../main/contract/views/write.ts";
import type { WireError } from "../../main/diagnostics/errors.ts";
import { toWireError } from "../../main/diagnostics/errors.ts";
import type { Async } from "../session/async.ts";
import { createQuestions, createTask, IDLE, isCancelled } from "../session/async.ts";
import type { SliceTools } from "../session/slice.ts";

/** Items of a stream that writes: what goes on, and what was written. */
export type WriteItem =
  | { readonly kind: "phase"; readonly sentence: string; readonly fraction: number | null }
  | { readonly kind: "progress"; readonly sentence: string; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly kind: "done" };
export type StepOf<Item> = Exclude<Item, { readonly kind: "done" }>;
export type ReportOf<Item> = Extract<Item, { readonly kind: "done" }>;

export type WriteWork<Step> =
  | { readonly kind: "none" }
  /** `since`: when it began, by Date.now(); `step`: null until the engine says something. */
  | { readonly kind: "running"; readonly since: number; readonly step: Step | null }
  | { readonly kind: "failed"; readonly error: WireError }
  | { readonly kind: "cancelled" };

export interface WriteState<Plan, Item> {
  readonly plan: Async<Plan>;
  /** The last plan that could be made. Its choices stay in sight where none can be made of them. */
  readonly planned: Plan | null;
  readonly path: string;
  readonly overwrite: boolean;
  readonly work: WriteWork<StepOf<Item>>;
  /** Of what was written last; it stays until the next one is. */
  readonly report: ReportOf<Item> | null;
}

export interface WriteActions {
  readonly load: () => Promise<void>;
  /** Asks again for a changed choice; an error was about the choice before. */
  readonly choose: () => Promise<void>;
  readonly setPath: (path: string) => void;
  readonly setOverwrite: (on: boolean) => void;
  /** The system's dialog; null in a browser, where the path on the engine's machine is typed. */
  readonly pick: (() => Promise<void>) | null;
  readonly start: () => Promise<void>;
  /** Does the work and writes nothing; null where the plan says it all. */
  readonly measure: (() => Promise<void>) | null;
  readonly stop: () => void;
}

export const NOT_WRITING = {
  plan: IDLE,
  planned: null,
  path: "",
  overwrite: false,
  work: { kind: "none" },
  report: null,
} as const;

export const isWriting = ({ work }: { readonly work: WriteWork<unknown> }): boolean => work.kind === "running";

/** The engine refuses to write over something unasked. */
export const isThereAlready = ({ details }: WireError): boolean => details?.["exists"] === true;

/** The engine was asked about the disk of the folder that it suggests, and about no other. */
export function isSuggestedFolder(path: string, { suggestedPath }: Pick<WritePlan, "suggestedPath">): boolean {
  const folder = (of: string): string => of.replace(/[\\/][^\\/]*$/, "");
  return folder(path.trim()) === folder(suggestedPath);
}

export interface WriteParts<Plan, Item> {
  readonly get: () => WriteState<Plan, Item>;
  readonly set: (state: WriteState<Plan, Item>) => void;
  /** null: there is nothing to plan. */
  readonly plan: () => Promise<Plan> | null;
  /** `path` is null to write nothing; null: there is nothing to write. */
  readonly write: (place: WritePlaceOf, signal: AbortSignal) => AsyncIterable<Item> | null;
  /** Whether it can do its work without writing. */
  readonly measures?: boolean;
  readonly onWritten?: (report: ReportOf<Item>) => void;
  /** The slice is reset for another model. */
  readonly onLeft: () => void;
}

export interface WritePlaceOf {
  readonly path: string | null;
  readonly overwrite: boolean;
}

export function createWriting<Plan extends WritePlan, Item extends WriteItem>(
  { shell, on }: Pick<SliceTools<unknown>, "shell" | "on">,
  { get, set, ...parts }: WriteParts<Plan, Item>,
): WriteActions {
  const task = createTask();
  const plans = createQuestions();
  let suggested = "";
  const change = (part: Partial<WriteState<Plan, Item>>): void => set({ ...get(), ...part });
  /** A change of what is asked: an error was about what was asked before. */
  const ask = (part: Partial<WriteState<Plan, Item>>): void =>
    change({ ...part, ...(get().work.kind === "failed" ? { work: NOT_WRITING.work } : {}) });

  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    plans.drop();
    suggested = "";
    set(NOT_WRITING);
    parts.onLeft();
  });

  const begin = async (path: string | null): Promise<void> => {
    if (isWriting(get())) return;
    const { signal, isCurrent } = task.begin();
    const items = parts.write({ path, overwrite: get().overwrite }, signal);
    if (items === null) return;
    const since = Date.now();
    change({ work: { kind: "running", since, step: null } });
    try {
      let report: ReportOf<Item> | null = null;
      for await (const item of items) {
        if (!isCurrent()) return;
        if (isReport(item)) report = item;
        else change({ work: { kind: "running", since, step: item as StepOf<Item> } });
      }
      if (!isCurrent()) return;
      if (report === null) change({ work: { kind: "cancelled" } });
      else {
        change({ report, work: NOT_WRITING.work });
        parts.onWritten?.(report);
      }
    } catch (error) {
      if (!isCurrent()) return;
      change({ work: isCancelled(error) ? { kind: "cancelled" } : { kind: "failed", error: toWireError(error) } });
    }
  };

  const load = async (): Promise<void> => {
    const question = parts.plan();
    if (question === null) return;
    await plans.ask(
      get().plan,
      () => question,
      (plan) => {
        change({ plan });
        if (plan.kind !== "ready") return;
        // A path that a person typed stays; a suggestion follows the choice.
        const { suggestedPath } = plan.value;
        const follows = get().path === "" || get().path === suggested;
        change({ planned: plan.value, ...(follows ? { path: suggestedPath } : {}) });
        suggested = suggestedPath;
      },
    );
  };

  return {
    load,
    choose: () => {
      ask({});
      return load();
    },
    setPath: (path) => ask({ path }),
    setOverwrite: (overwrite) => ask({ overwrite }),
    pick:
      shell === null
        ? null
        : async () => {
            const path = await shell.saveDialog(get().path);
            // The system's dialog has asked about replacing already.
            if (path !== null) ask({ path, overwrite: true });
          },
    async start() {
      const path = get().path.trim();
      if (path !== "") await begin(path);
    },
    measure: parts.measures === true ? () => begin(null) : null,
    stop: task.stop,
  };
}

const isReport = <Item extends WriteItem>(item: Item): item is Item & ReportOf<Item> => item.kind === "done";
