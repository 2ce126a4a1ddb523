/** A run as its items make it: the reducer of the stream, and what its state is called. */
import type {
  TrainAlarm,
  TrainItem,
  TrainQuantized,
  TrainResult,
  TrainSpec,
} from "../../../main/contract/views/train.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import type { CurvePoint } from "../../ui/lineChart.ts";
import type { TrainCurve } from "./curve.ts";
import { NO_CURVE, withSteps } from "./curve.ts";
import type { LayerNorm } from "./norms.ts";

type Item<K extends TrainItem["kind"]> = Extract<TrainItem, { kind: K }>;
type StartedRun = Item<"started">;
type EndedRun = Item<"done">;
export type Speed = Pick<Item<"steps">, "stepsPerSecond" | "memoryBytes" | "elapsedSeconds" | "secondsLeft">;

/** `dropped`: it was left, and nothing of it is saved. */
export type LiveState =
  "starting" | "running" | "pausing" | "paused" | "resuming" | "stopping" | "done" | "stopped" | "failed" | "dropped";

interface WrittenSample {
  readonly step: number;
  readonly prompt: string;
  readonly text: string;
}

export interface ValidationPoint {
  readonly step: number;
  readonly loss: number;
  readonly accuracy: number | null;
}

export interface LiveRun {
  readonly spec: TrainSpec;
  readonly title: string;
  /** By Date.now(). */
  readonly since: number;
  readonly state: LiveState;
  /** What it does before its first step. */
  readonly phase: { readonly sentence: string; readonly fraction: number | null };
  readonly started: StartedRun | null;
  readonly curve: TrainCurve;
  readonly validation: readonly ValidationPoint[];
  /** The newest. */
  readonly norms: { readonly step: number; readonly norms: readonly LayerNorm[] } | null;
  /** Newest first. */
  readonly samples: readonly WrittenSample[];
  readonly speed: Speed | null;
  /** Steps per second, of the last reports. */
  readonly speeds: readonly number[];
  /** What few bits cost, where they were asked for. */
  readonly quantized: TrainQuantized | null;
  readonly alarm: TrainAlarm | null;
  /** What was written, each path once. */
  readonly results: readonly TrainResult[];
  readonly ended: EndedRun | null;
  readonly error: WireError | null;
}

const MOST_SAMPLES = 50;
const MOST_SPEEDS = 240;

export const newRun = (spec: TrainSpec, title: string, since: number): LiveRun => ({
  ...{ spec, title, since, state: "starting", phase: { sentence: "Starting", fraction: null }, started: null },
  ...{ curve: NO_CURVE, validation: [], norms: null, samples: [], speed: null, speeds: [], quantized: null },
  ...{ alarm: null, results: [], ended: null, error: null },
});

const OVER: ReadonlySet<LiveState> = new Set(["done", "stopped", "failed", "dropped"]);
export const isOver = ({ state }: Pick<LiveRun, "state">): boolean => OVER.has(state);

/** A run of this window goes on. */
export const isTraining = ({ trainRun }: { readonly trainRun: LiveRun | null }): boolean =>
  trainRun !== null && !isOver(trainRun);

const withResult = (results: readonly TrainResult[], result: TrainResult): readonly TrainResult[] => [
  ...results.filter(({ path }) => path !== result.path),
  result,
];

/** In the order of steps; the same step again takes its own place. */
function atStep<T extends { readonly step: number }>(points: readonly T[], point: T): readonly T[] {
  return [...points.filter(({ step }) => step < point.step), point];
}

export function withItem(run: LiveRun, item: TrainItem): LiveRun {
  switch (item.kind) {
    case "phase":
      return { ...run, phase: { sentence: item.sentence, fraction: item.fraction } };
    case "started":
      return { ...run, started: item, title: item.title, state: run.state === "starting" ? "running" : run.state };
    case "steps": {
      const { stepsPerSecond, memoryBytes, elapsedSeconds, secondsLeft } = item;
      return {
        ...run,
        curve: withSteps(run.curve, item),
        speed: { stepsPerSecond, memoryBytes, elapsedSeconds, secondsLeft },
        speeds: [...run.speeds, stepsPerSecond].slice(-MOST_SPEEDS),
      };
    }
    case "validation": {
      const { step, loss, accuracy } = item;
      return { ...run, validation: atStep(run.validation, { step, loss, accuracy }) };
    }
    case "quantized":
      return { ...run, quantized: item.quantized };
    case "norms":
      return { ...run, norms: { step: item.step, norms: item.norms } };
    case "sample": {
      const { step, prompt, text } = item;
      return { ...run, samples: [{ step, prompt, text }, ...run.samples].slice(0, MOST_SAMPLES) };
    }
    case "paused":
      return { ...run, state: run.state === "stopping" ? "stopping" : "paused" };
    case "resumed":
      return { ...run, state: run.state === "stopping" ? "stopping" : "running" };
    case "alarm":
      return { ...run, alarm: item.alarm };
    case "saved":
      return { ...run, results: withResult(run.results, item.result) };
    case "done":
      return { ...run, state: item.state, ended: item, results: item.results.reduce(withResult, run.results) };
  }
}

/** The last step that was reported: 0 before the first. */
export const stepOf = ({ curve, started }: LiveRun): number => curve.step.at(-1) ?? started?.from ?? 0;

/** Of the way from where it began to its last step. */
export function fractionOf(run: LiveRun): number | null {
  if (run.started === null) return run.phase.fraction;
  const { from, steps } = run.started;
  return steps <= from ? 1 : Math.min(1, Math.max(0, (stepOf(run) - from) / (steps - from)));
}

/** The validation's losses as points of a curve. */
export const validationPoints = (points: readonly ValidationPoint[]): readonly CurvePoint[] =>
  points.map(({ step, loss }) => ({ x: step, y: loss }));
