/**
 * The loop of a run: steps, and between them what else was asked for. What it tells of steps goes out ten times a second, in
 * columns. It stands back after a few milliseconds of work, so that the engine answers others meanwhile.
 */
import type { TrainAlarm, TrainItem, TrainResult, TrainSpec } from "../../contract/views/train.ts";
import type { WorkbenchError } from "../../diagnostics/errors.ts";
import { toWireError, throwIfCancelled } from "../../diagnostics/errors.ts";
import { writeConverted } from "../../formats/gguf/convert.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import { checkpointPieces } from "../../training/checkpoint.ts";
import type { Fault } from "../../training/fault.ts";
import type { Inputs } from "../../training/recipes/recipe.ts";
import type { StepResult, TrainingSession } from "../../training/session.ts";
import { othersFirst } from "../models/taskCache.ts";
import type { TrainingFiles } from "../services.ts";
import type { Control } from "./control.ts";
import type { Step } from "./curves.ts";
import { columnsOf } from "./curves.ts";
import { Evaluation, weightsOf } from "./evaluation.ts";
import type { OpenedTraining } from "./opening.ts";
import type { Places } from "./results.ts";
import { adapterResult, checkpointResult, fileBytes, modelResult, weightsPieces, weightsResult } from "./results.ts";

const TELL_EVERY_MS = 100;
const SLICE_MS = 8;
/** Steps in a row whose gradients in f16 are no numbers, with the scale of the loss as low as it goes. */
const MOST_REFUSED = 40;

type Done = Extract<TrainItem, { readonly kind: "done" }>;

export interface LoopParts {
  readonly run: string;
  readonly spec: TrainSpec;
  readonly opened: OpenedTraining;
  readonly session: TrainingSession;
  readonly control: Control;
  readonly places: Places;
  readonly files: TrainingFiles;
  readonly emit: (item: TrainItem) => void;
  readonly signal: AbortSignal;
  readonly memoryBytes: () => number;
}

export async function trainingLoop(parts: LoopParts): Promise<Done> {
  const loop = new Loop(parts);
  try {
    return await loop.run();
  } finally {
    await loop.dispose();
  }
}

class Loop {
  readonly #parts: LoopParts;
  readonly #evaluation: Evaluation;
  readonly #results: TrainResult[] = [];
  #steps: Step[] = [];
  #toldAt = performance.now();
  #standBackAt = performance.now();
  /** Of all steps, and of those behind the first, which also compiles. */
  #busyMs = 0;
  #steadyMs = 0;
  #taken = 0;
  #refused = 0;
  #loss: number | null = null;
  #validation: number | null = null;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#evaluation = new Evaluation(parts.opened.device);
  }

  dispose(): Promise<void> {
    return this.#evaluation.dispose();
  }

  async run(): Promise<Done> {
    const { session, control, opened, signal } = this.#parts;
    const { settings } = opened;
    while (session.steps < settings.steps && !control.isStopped) {
      if (control.isPaused) await this.#pause();
      if (control.isStopped) break;
      const began = performance.now();
      const batches = this.#batches(session.steps);
      const made = await session.stepOver(batches, signal);
      this.#took(performance.now() - began);
      this.#count(made);
      const alarm = await this.#alarmOf(made, batches);
      if (alarm !== undefined) {
        this.#tell();
        this.#parts.emit({ kind: "alarm", alarm });
        return this.#finish("failed", alarm.sentence);
      }
      if (performance.now() - this.#toldAt >= TELL_EVERY_MS) this.#tell();
      if (made.applied) await this.#between(session.steps, made.norms);
      if (performance.now() - this.#standBackAt >= SLICE_MS) {
        await othersFirst();
        this.#standBackAt = performance.now();
      }
      throwIfCancelled(signal);
    }
    this.#tell();
    const isWhole = session.steps >= settings.steps;
    await this.#save();
    return this.#finish(
      isWhole ? "done" : "stopped",
      isWhole ? "It is done." : `It was stopped after ${session.steps} steps.`,
    );
  }

  /** Of the update behind `steps`: each batch is read once. */
  #batches(steps: number): readonly Inputs[] {
    const { prepared, settings } = this.#parts.opened;
    const { accumulate } = settings;
    return Array.from({ length: accumulate }, (_, i) => prepared.batch(steps * accumulate + i + 1));
  }

  #took(milliseconds: number): void {
    this.#busyMs += milliseconds;
    if (this.#taken > 0) this.#steadyMs += milliseconds;
    this.#taken += 1;
  }

  /** Steps per second. Of the first alone there is only its own time. */
  get #rate(): number {
    const [steps, milliseconds] = this.#taken > 1 ? [this.#taken - 1, this.#steadyMs] : [this.#taken, this.#busyMs];
    return (1000 * steps) / Math.max(1e-6, milliseconds);
  }

  async #pause(): Promise<void> {
    const { session, control, signal, emit } = this.#parts;
    this.#tell();
    emit({ kind: "paused", step: session.steps });
    await control.rest(signal);
    emit({ kind: "resumed", step: session.steps });
  }

  #count({ loss, applied, norms }: StepResult): void {
    const { session } = this.#parts;
    this.#loss = loss;
    if (!applied) return;
    this.#steps.push({
      step: session.steps,
      loss,
      rate: session.rateAt(session.steps),
      norm: norms === undefined ? NaN : Math.sqrt(norms.reduce((sum, norm) => sum + norm * norm, 0)),
      scale: session.lossScale,
    });
  }

  #tell(): void {
    this.#toldAt = performance.now();
    if (this.#steps.length === 0) return;
    const { opened, session, emit, memoryBytes } = this.#parts;
    const seconds = this.#busyMs / 1000;
    const rate = this.#rate;
    emit({
      kind: "steps",
      ...columnsOf(this.#steps),
      stepsPerSecond: rate,
      memoryBytes: memoryBytes(),
      elapsedSeconds: seconds,
      secondsLeft: (opened.settings.steps - session.steps) / rate,
    });
    this.#steps = [];
  }

  /** What is due after a step. */
  async #between(step: number, norms: readonly number[] | undefined): Promise<void> {
    const { opened, emit, signal, spec, session } = this.#parts;
    const { settings, prepared } = opened;
    const isLast = step >= settings.steps;
    const isDue = (every: number): boolean => every > 0 && (step % every === 0 || isLast);
    if (norms !== undefined && isDue(settings.norms.every))
      emit({ kind: "norms", step, norms: layerNorms(prepared.trainable, norms) });
    const { validation, writing } = prepared;
    if (validation !== undefined && isDue(settings.validation.every)) {
      const { loss, accuracy } = await this.#evaluation.validate(validation, await weightsOf(session), signal);
      this.#validation = loss;
      this.#tell();
      emit({ kind: "validation", step, loss, accuracy });
    }
    const { sample } = settings;
    if (writing !== undefined && sample !== null && isDue(sample.every)) {
      const asked = { ...sample, seed: (settings.seed + step) >>> 0 };
      const text = await this.#evaluation.write(writing, await weightsOf(session), asked, signal);
      this.#tell();
      emit({ kind: "sample", step, prompt: sample.prompt, text });
    }
    const every = spec.checkpoint?.every ?? 0;
    if (every > 0 && step % every === 0 && !isLast) await this.#saveCheckpoint();
  }

  async #alarmOf(made: StepResult, batches: readonly Inputs[]): Promise<TrainAlarm | undefined> {
    const { session, signal } = this.#parts;
    this.#refused = made.applied ? 0 : this.#refused + 1;
    if (made.alarm !== true && this.#refused < MOST_REFUSED) return undefined;
    const step = session.steps + 1;
    let fault: Fault | undefined;
    for (const inputs of batches) fault ??= await session.findFault(inputs, signal);
    if (fault === undefined)
      return {
        ...{ step, op: null, place: "the loss" },
        sentence: `The loss of step ${step} is no number.`,
        advice: "Take a lower learning rate, or clip the gradients.",
      };
    const { op, name, place, message, advice } = fault;
    return { step, op, place: place === "" ? name : place, sentence: `${message}.`, advice };
  }

  /** Everything that the spec names a place for. */
  async #save(): Promise<void> {
    const { places, session, emit } = this.#parts;
    if (places.checkpoint !== undefined) await this.#saveCheckpoint();
    if (places.output === undefined) return;
    const result = await this.#saveResult(places.output);
    this.#results.push(result);
    emit({ kind: "saved", step: session.steps, result });
  }

  async #saveResult(path: string): Promise<TrainResult> {
    const { session, files, opened, signal } = this.#parts;
    const params = await session.params(true);
    const made = opened.prepared.modelFile?.(params, opened.title);
    if (made?.kind === "adapter")
      return adapterResult(path, await writeGguf(await files.sink(path), made.contents, { signal }), opened);
    if (made?.kind === "model") {
      await writeConverted(made.plan, [await files.sink(path)], { signal });
      return modelResult(path, made.plan.bytes);
    }
    const pieces = weightsPieces(params, opened, session.steps);
    await files.write(path, pieces, signal);
    return weightsResult(path, fileBytes(pieces), opened);
  }

  async #saveCheckpoint(): Promise<void> {
    const { places, session, files, emit, signal } = this.#parts;
    if (places.checkpoint === undefined) return;
    const pieces = checkpointPieces(await session.snapshot());
    await files.write(places.checkpoint, pieces, signal);
    const result = checkpointResult(places.checkpoint, fileBytes(pieces), session.steps);
    const old = this.#results.findIndex(({ what }) => what === "checkpoint");
    if (old < 0) this.#results.push(result);
    else this.#results[old] = result;
    this.#tell();
    emit({ kind: "saved", step: session.steps, result });
  }

  #finish(state: Done["state"], sentence: string): Done {
    const seconds = this.#busyMs / 1000;
    return {
      kind: "done",
      run: this.#parts.run,
      state,
      steps: this.#parts.session.steps,
      seconds,
      stepsPerSecond: this.#rate,
      loss: finite(this.#loss),
      validation: finite(this.#validation),
      results: this.#results,
      sentence,
    };
  }
}

const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

/** "layers.3.qkv" belongs to "layers.3", "conv1.bias" to "conv1". */
const layerOf = (name: string): string =>
  /^(?:layers|blk)\.\d+/u.exec(name)?.[0] ?? (name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : name);

function layerNorms(names: readonly string[], norms: readonly number[]): { layer: string; norm: number }[] {
  const squares = new Map<string, number>();
  names.forEach((name, i) => {
    const layer = layerOf(name);
    squares.set(layer, (squares.get(layer) ?? 0) + (norms[i] ?? NaN) ** 2);
  });
  return [...squares].map(([layer, sum]) => ({ layer, norm: Math.sqrt(sum) }));
}

/** Why a run failed, in a sentence. */
export const problemOf = (error: unknown): string => {
  const { message, hint }: Pick<WorkbenchError, "message"> & { readonly hint?: string } = toWireError(error);
  return hint === undefined ? message : `${message}. ${hint}`;
};
