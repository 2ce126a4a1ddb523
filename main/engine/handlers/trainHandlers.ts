/** Training: what there is, a run as a stream, its control from outside, and runs that are kept. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { TrainItem, TrainPlan, TrainSpec } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { readCheckpoint } from "../../training/checkpoint.ts";
import { OPTIMIZER_NAMES, optimizerNamed } from "../../training/optimisers/index.ts";
import { RECIPES } from "../../training/recipes/index.ts";
import { TrainingSession } from "../../training/session.ts";
import type { JobHandle, Jobs } from "../jobs.ts";
import { settledStream } from "../progressStream.ts";
import { randomId } from "../random.ts";
import type { Machine, ModelFiles, PackageFiles, TrainingRuns } from "../services.ts";
import { Control } from "../training/control.ts";
import { problemOf, trainingLoop } from "../training/loop.ts";
import type { OpenedTraining, OpeningParts } from "../training/opening.ts";
import { openTraining, trainingProblem, updateOf, trainingDeviceOf } from "../training/opening.ts";
import { Recorder } from "../training/recorder.ts";
import { listRuns, loadRun, recordText, SAVE_EVERY_MS } from "../training/records.ts";
import type { Places } from "../training/results.ts";
import { placesOf, requireOtherFile } from "../training/results.ts";
import { recipeView } from "../training/settings.ts";
import { CAN } from "../views/overviewView.ts";
import { phaseItem } from "./runHandlers.ts";

export interface TrainParts extends OpeningParts {
  readonly trainingRuns: TrainingRuns;
  readonly packages: Pick<PackageFiles, "suggest">;
  readonly machine: Pick<Machine, "engineBytes">;
  readonly jobs: Jobs;
}

type Calls =
  | "train.recipes"
  | "train.plan"
  | "train.pause"
  | "train.resume"
  | "train.stop"
  | "train.runs"
  | "train.run"
  | "train.forget";

interface Live {
  readonly control: Control;
  readonly recorder: Recorder;
}

const OK = { ok: true } as const;

export function trainHandlers(parts: TrainParts): {
  readonly calls: Pick<EngineHandlers["calls"], Calls>;
  readonly streams: Pick<EngineHandlers["streams"], "train.start">;
} {
  const { trainingRuns } = parts;
  const live = new Map<string, Live>();
  const liveRun = (run: string): Live => {
    const found = live.get(run);
    if (found !== undefined) return found;
    throw new WorkbenchError("HANDLE_UNKNOWN", `[train] run ${run} is not running here`, {
      hint: "It has ended, or another process runs it.",
    });
  };
  const change = (run: string, how: (control: Control) => void): typeof OK => {
    how(liveRun(run).control);
    return OK;
  };
  return {
    calls: {
      "train.recipes": () => recipesView(parts),
      "train.plan": (spec, { signal }) => planView(parts, spec, signal),
      "train.pause": ({ run }) => change(run, (control) => control.pause()),
      "train.resume": ({ run }) => change(run, (control) => control.resume()),
      "train.stop": ({ run }) => change(run, (control) => control.stop()),
      "train.runs": ({ limit }) => listRuns(trainingRuns, limit, (run) => live.get(run)?.recorder.row),
      "train.run": async ({ run }) => live.get(run)?.recorder.run() ?? (await loadRun(trainingRuns, run)),
      "train.forget": async ({ run }) => {
        if (live.has(run))
          throw new WorkbenchError("HANDLE_BUSY", `[train] run ${run} is running`, { hint: "Stop it first." });
        await trainingRuns.remove(run);
        return OK;
      },
    },
    streams: { "train.start": (spec, { signal }) => start(parts, live, spec, signal) },
  };
}

function recipesView({ devices, threads }: TrainParts): ReturnType<EngineHandlers["calls"]["train.recipes"]> {
  return {
    recipes: RECIPES.map((recipe) => recipeView(recipe, devices.first.id)),
    devices: devices.listed.map((device) => {
      const { id, title } = device;
      const problem = trainingProblem(devices, device);
      const reason = problem ?? devices.running(device).probe().sentence;
      const update =
        problem === undefined
          ? updateOf(trainingDeviceOf(devices, id, threads), true)
          : { path: "gradient" as const, fused: false, reason: problem };
      return { id, title, available: problem === undefined, reason, update };
    }),
    optimizers: OPTIMIZER_NAMES.map((name) => ({ name, options: { ...optimizerNamed(name).options } })),
  };
}

async function planView(parts: TrainParts, spec: TrainSpec, signal: AbortSignal): Promise<TrainPlan> {
  const opened = await openTraining(parts, spec, signal);
  const { title, settings, update, prepared, trainedParameters, memory, recipe } = opened;
  await opened.close();
  const suggested = await parts.packages.suggest(
    opened.model?.placeOfResults ?? null,
    `${recipe.id}.${recipe.resultEnding}`,
  );
  return {
    ...{ title, update, trainedParameters, memory },
    device: settings.device,
    parameters: prepared.parameters,
    data: prepared.data,
    suggestedPath: suggested.path,
    can: CAN,
  };
}

async function* start(
  parts: TrainParts,
  live: Map<string, Live>,
  spec: TrainSpec,
  signal: AbortSignal,
): AsyncGenerator<TrainItem> {
  const since = performance.now();
  const job = parts.jobs.start("train", spec.title ?? spec.recipe);
  try {
    yield phaseItem("prepare", "Preparing data and model", since);
    const places = await placesOf(parts.trainingFiles, spec);
    const opened = await openTraining(parts, spec, signal);
    const session = sessionOf(opened);
    try {
      requireOtherFile(places, opened);
      yield phaseItem("compile", "Compiling the step", since);
      if (spec.resume !== undefined) await resume(parts.files, session, spec.resume, opened, signal);
      yield* recorded(parts, live, { spec, opened, session, places, job }, signal);
    } finally {
      await session.dispose();
      await opened.close();
    }
  } finally {
    job.end();
  }
}

/** `forward`: the net as it is trained. */
function sessionOf(
  { prepared, settings, device, optimizers, update }: OpenedTraining,
  forward = prepared.forward,
): TrainingSession {
  const { norm, value } = settings.clip;
  const session = new TrainingSession(forward, prepared.trainable, prepared.initial, {
    ...{ device, ...optimizers },
    seed: settings.seed,
    clipping: { ...(norm === null ? {} : { norm }), ...(value === null ? {} : { value }) },
  })
    .withPrecisionPolicy(settings.precision)
    .withNanAlarm()
    .withGradientNorms();
  return update.fused ? session.withFusedOptimizer() : session;
}

async function resume(
  files: ModelFiles,
  session: TrainingSession,
  path: string,
  { settings }: OpenedTraining,
  signal: AbortSignal,
): Promise<void> {
  const { source } = await files.open(path);
  try {
    const snapshot = await readCheckpoint(source, signal);
    if (snapshot.steps >= settings.steps)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[train] steps: got ${settings.steps}, expected more than the ${snapshot.steps} of the checkpoint`,
        { hint: "Ask for more steps." },
      );
    await session.restore(snapshot);
  } finally {
    await source.close();
  }
}

interface Recorded {
  readonly spec: TrainSpec;
  readonly opened: OpenedTraining;
  readonly session: TrainingSession;
  readonly places: Places;
  readonly job: JobHandle;
}

/** The run itself, with a record of it on disk. */
async function* recorded(
  parts: TrainParts,
  live: Map<string, Live>,
  { spec, opened, session, places, job }: Recorded,
  signal: AbortSignal,
): AsyncGenerator<TrainItem> {
  const { trainingRuns, trainingFiles, machine } = parts;
  const run = randomId();
  const started = startedItem(run, opened, session.steps);
  const recorder = new Recorder(spec, started);
  const control = new Control();
  live.set(run, { control, recorder });
  const save = (): Promise<void> => trainingRuns.save(run, recordText(recorder.run()));
  try {
    await save();
    let savedAt = performance.now();
    yield started;
    const done = yield* settledStream<TrainItem, TrainItem>((emit) =>
      trainingLoop({
        ...{ run, spec, opened, session, control, places, signal },
        files: trainingFiles,
        sessionOver: (forward) => sessionOf(opened, forward),
        memoryBytes: () => machine.engineBytes(),
        emit: (item) => {
          recorder.take(item);
          job.update(control.isPaused ? "paused" : "training", recorder.row.step / recorder.row.steps);
          if (performance.now() - savedAt > SAVE_EVERY_MS) {
            savedAt = performance.now();
            // The end is saved again, and a failure of that one is told.
            save().catch(() => undefined);
          }
          emit(item);
        },
      }),
    );
    recorder.take(done);
    await save();
    yield done;
  } catch (error) {
    recorder.end(signal.aborted ? "cancelled" : "failed", signal.aborted ? null : problemOf(error));
    throw error;
  } finally {
    const { state } = recorder.row;
    if (state === "running" || state === "paused") recorder.end("cancelled", null);
    live.delete(run);
    if (recorder.row.state === "cancelled" || recorder.row.state === "failed") await save().catch(() => undefined);
  }
}

function startedItem(
  run: string,
  opened: OpenedTraining,
  from: number,
): Extract<TrainItem, { readonly kind: "started" }> {
  const { title, recipe, settings, device, update, prepared, trainedParameters, memory } = opened;
  return {
    kind: "started",
    ...{ run, title, update, trainedParameters, memory, from, settings },
    recipe: recipe.id,
    device: settings.device,
    deviceTitle: device.title,
    parameters: prepared.parameters,
    data: prepared.data,
    steps: settings.steps,
  };
}
