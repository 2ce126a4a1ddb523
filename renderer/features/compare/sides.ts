/** What can stand on a side: the open model, another file, a run, a result, a session; and which target it is on. */
import { z } from "zod";
import type { Measured, ComparedAnswer } from "../../../main/contract/views/compare.ts";
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import { phase, targetSpec } from "../../../main/contract/views/common.ts";
import type { Subject } from "../../../main/contract/views/cost.ts";
import type { BenchResult } from "../../../main/contract/views/bench.ts";
import type { DeviceInfo, RunDevice } from "../../../main/contract/views/engine.ts";
import { benchDone } from "../../../main/contract/views/bench.ts";
import { backend, BACKENDS, backendTitle, ROUTED } from "../../../main/contract/views/graph.ts";
import type { Backend } from "../../../main/contract/views/graph.ts";
import type { ModelSource, Overview } from "../../../main/contract/views/model.ts";
import type { SessionDocument } from "../../../main/contract/views/session.ts";

/** Parts of other features, as far as a comparison needs them. */
export interface KeptRun {
  readonly id: number;
  readonly mode: string;
  readonly prompt: string;
  readonly text: string;
}
export interface KeptBench {
  readonly id: number;
  readonly at: number;
  readonly model: string;
  readonly result: BenchResult;
}

/** Which model: the open one, one of a path, or one of a kept session. */
export type SideModel =
  | { readonly kind: "open" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "run"; readonly id: number }
  | { readonly kind: "bench"; readonly id: number; readonly subject: number }
  | { readonly kind: "session"; readonly session: string };

/** `on`: null for the subject of the window (or of the session). */
export interface SideChoice {
  readonly model: SideModel;
  readonly on: { readonly backend: Backend; readonly units: TargetSpec["units"] | null } | null;
}

/** As the value of a list of choices. */
export const keyOf = (value: SideModel | SideChoice["on"]): string => JSON.stringify(value);

const UNIT_TITLES: Readonly<Record<TargetSpec["units"], string>> = {
  "cpu-ane": "CPU and Neural Engine",
  all: "all units",
  "cpu-gpu": "CPU and GPU",
  cpu: "CPU only",
};

interface TargetChoice {
  readonly on: SideChoice["on"];
  readonly title: string;
}

/** The targets of a list: the window's own first, then Core ML with each of its units, then the other runtimes. */
export const TARGETS: readonly TargetChoice[] = [
  { on: null, title: "As the window" },
  ...BACKENDS.flatMap(({ backend: of, title }): readonly TargetChoice[] =>
    of === ROUTED.backend
      ? (["cpu-ane", "all", "cpu-gpu", "cpu"] as const).map((units) => ({
          on: { backend: of, units },
          title: `${title}, ${UNIT_TITLES[units]}`,
        }))
      : [{ on: { backend: of, units: null }, title }],
  ),
];

export function subjectOn(on: SideChoice["on"], window: Subject): Subject {
  if (on === null) return window;
  const { units } = on;
  if (units === null || (on.backend === window.backend && units === window.target.units))
    return { backend: on.backend, target: window.target };
  return { backend: on.backend, target: { ...window.target, units, profile: "auto" } };
}

export interface SideParts {
  readonly source: ModelSource | { readonly kind: "open" };
  readonly subject: Subject;
  readonly measured: Measured | null;
  readonly answer: ComparedAnswer | null;
}

const targetPart = z.object({ target: targetSpec, phase, backend: backend.default(ROUTED.backend) });
const runsPart = z.array(z.object({ id: z.number(), mode: z.string(), prompt: z.string(), text: z.string() }));
const benchPart = z.object({
  results: z.array(z.object({ id: z.number(), at: z.number(), model: z.string(), result: benchDone })),
});

/** What a kept session has of its open model: its file, its subject, its newest run and result. */
export function sideOfSession(document: SessionDocument, window: Subject): SideParts | string {
  const model = document.models.find(({ identity }) => identity === document.open) ?? document.models[0];
  if (model === undefined) return "This session has no model.";
  const { source, title, variant } = model;
  if (source.kind === "name") return `The file of this session, ${source.name}, is not known by its path.`;
  const target = targetPart.safeParse(model.parts["target"]).data;
  const [run] = runsPart.safeParse(model.parts["runs"]).data ?? [];
  const name = [title, variant].filter((part) => part !== "").join(" ");
  const result = benchPart.safeParse(document.parts["bench"]).data?.results.find((each) => each.model === name);
  return {
    source,
    subject: target === undefined ? window : { backend: target.backend, target: target.target },
    measured:
      result === undefined ? null : { record: result.result, subject: 0, name: `Bench ${result.id} of that session` },
    answer: run === undefined ? null : answerOf(run, " of that session"),
  };
}

/** Letters of an answer that are sent. */
const MOST_LETTERS = 200_000;

export const answerOf = ({ id, mode, prompt, text }: KeptRun, of = ""): ComparedAnswer => ({
  name: `${mode === "chat" ? "Chat" : "Text"} ${id}${of}`,
  prompt: prompt.slice(0, MOST_LETTERS),
  text: text.slice(0, MOST_LETTERS),
});

/** The device that measures a runtime here, or why there is none. */
export type Measurable = { readonly device: RunDevice } | { readonly why: string };

export function measurableOn(of: Backend, devices: readonly DeviceInfo[]): Measurable {
  const own = devices.filter((device) => device.backend === of);
  const found = own.find(({ available, capabilities }) => available && capabilities.measure === true);
  if (found !== undefined) return { device: found.id };
  // What is missing says more than what a simulator cannot do.
  const missing = own.find(({ available }) => !available) ?? own[0];
  const can = missing?.capabilities.measure;
  const reason = missing === undefined ? "" : missing.available && can !== true ? (can ?? "") : missing.sentence;
  return { why: `${backendTitle(of)} is measured on no device of this machine. ${reason}`.trimEnd() };
}

/** The runtime that both files are compared on at first: the window's where it is here, else the first that is. */
function hereOn(window: Subject, devices: readonly DeviceInfo[]): SideChoice["on"] {
  return "device" in measurableOn(window.backend, devices) ? null : firstHere(devices);
}

/** The first runtime that measures on this machine. */
export function firstHere(devices: readonly DeviceInfo[]): SideChoice["on"] {
  const found = BACKENDS.find(({ backend: of }) => "device" in measurableOn(of, devices));
  return found === undefined ? null : { backend: found.backend, units: null };
}

interface FirstSides {
  readonly recents: readonly { readonly path: string; readonly exists: boolean }[];
  /** The fastest other target by the forecast; null where none was made: then Core ML with other units. */
  readonly best: Subject | null;
  readonly window: Subject;
  readonly devices: readonly DeviceInfo[];
}

/** What stands on both sides at first: the open model and the last other file, or else the best other target. */
export function initialSides(
  open: Pick<Overview, "file" | "argument">,
  { recents, best, window, devices }: FirstSides,
): { readonly a: SideChoice; readonly b: SideChoice } {
  const own: SideChoice = { model: { kind: "open" }, on: null };
  const other = recents.find(({ path, exists }) => exists && path !== open.file?.path);
  if (other !== undefined) {
    const on = hereOn(window, devices);
    return { a: { ...own, on }, b: { model: { kind: "file", path: other.path }, on } };
  }
  const isAll = window.backend === ROUTED.backend && window.target.units === "all";
  const on =
    best === null
      ? { backend: ROUTED.backend, units: isAll ? ("cpu-ane" as const) : ("all" as const) }
      : { backend: best.backend, units: best.backend === ROUTED.backend ? best.target.units : null };
  return { a: own, b: { model: { kind: "open" }, on } };
}
