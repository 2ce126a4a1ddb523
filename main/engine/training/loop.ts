/**
 * The loop of a run: steps, and between them what else was asked for. What it tells of steps goes out ten times a second, in
 * columns. It stands back after a few milliseconds of work, so that the engine answers others meanwhile.
 */
import type {
  TrainAlarm,
  TrainItem,
  TrainQuantize,
  TrainQuantized,
  TrainResult,
  TrainSpec,
} from "../../contract/views/train.ts";
import type { WorkbenchError } from "../../diagnostics/errors.ts";
import { invariant, toWireError, throwIfCancelled } from "../../diagnostics/errors.ts";
import { writeConverted } from "../../formats/gguf/convert.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import type { Graph } from "../../ir/graph.ts";
import { checkpointPieces } from "../../training/checkpoint.ts";
import type { Fault } from "../../training/fault.ts";
import type { Ranges } from "../../passes/fewBits.ts";
import type { Inputs, Prepared } from "../../training/recipes/recipe.ts";
import type { StepResult, TrainingSession } from "../../training/session.ts";
import { grouped } from "../measure/forecast.ts";
import { othersFirst } from "../models/taskCache.ts";
import type { TrainingFiles } from "../services.ts";
import type { Control } from "./control.ts";
import type { Step } from "./curves.ts";
import { columnsOf } from "./curves.ts";
import type { Measured } from "./evaluation.ts";
import { Evaluation, weightsOf } from "./evaluation.ts";
import { fewBitsMetadata, inFewBits } from "./fewBits.ts";
import { layerNorms } from "./layerNorms.ts";
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
  /** A session with the same optimisers over another graph of the same weights. */
  readonly sessionOver: (forward: Graph) => TrainingSession;
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
  /** What is trained now: the net in floats, or what it would be in few bits. */
  #session: TrainingSession;
  #prepared: Prepared;
  #fewBits: { readonly session: TrainingSession; readonly ranges: Ranges; readonly said: TrainQuantized } | undefined;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#evaluation = new Evaluation(parts.opened.device);
    this.#session = parts.session;
    this.#prepared = parts.opened.prepared;
  }

  async dispose(): Promise<void> {
    await this.#fewBits?.session.dispose();
    await this.#evaluation.dispose();
  }

  async run(): Promise<Done> {
    const { control, opened, signal } = this.#parts;
    const { settings } = opened;
    while (this.#session.steps < settings.steps && !control.isStopped) {
      if (control.isPaused) await this.#pause();
      if (control.isStopped) break;
      const session = this.#session;
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
      if (made.applied && session.steps === settings.quantize?.after) await this.#calibrate(settings.quantize);
      if (performance.now() - this.#standBackAt >= SLICE_MS) {
        await othersFirst();
        this.#standBackAt = performance.now();
      }
      throwIfCancelled(signal);
    }
    this.#tell();
    const { steps } = this.#session;
    const isWhole = steps >= settings.steps;
    await this.#measureTrained();
    await this.#save();
    return this.#finish(
      isWhole ? "done" : "stopped",
      isWhole ? "It is done." : `It was stopped after ${grouped(steps)} steps.`,
    );
  }

  /** Of the update behind `steps`: each batch is read once. */
  #batches(steps: number): readonly Inputs[] {
    const { accumulate } = this.#parts.opened.settings;
    return Array.from({ length: accumulate }, (_, i) => this.#prepared.batch(steps * accumulate + i + 1));
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
    const { control, signal, emit } = this.#parts;
    const step = this.#session.steps;
    this.#tell();
    emit({ kind: "paused", step });
    await control.rest(signal);
    emit({ kind: "resumed", step });
  }

  #count({ loss, applied, norms }: StepResult): void {
    const session = this.#session;
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
    const { opened, emit, memoryBytes } = this.#parts;
    const seconds = this.#busyMs / 1000;
    const rate = this.#rate;
    emit({
      kind: "steps",
      ...columnsOf(this.#steps),
      stepsPerSecond: rate,
      memoryBytes: memoryBytes(),
      elapsedSeconds: seconds,
      secondsLeft: (opened.settings.steps - this.#session.steps) / rate,
    });
    this.#steps = [];
  }

  /** What is due after a step. */
  async #between(step: number, norms: readonly number[] | undefined): Promise<void> {
    const { opened, emit, signal, spec } = this.#parts;
    const { settings } = opened;
    const [session, prepared] = [this.#session, this.#prepared];
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

  /** The net goes on as what it would be in few bits, from the same weights and moments. */
  async #calibrate(quantize: TrainQuantize): Promise<void> {
    const { opened, sessionOver, signal } = this.#parts;
    const session = this.#session;
    const weights = await weightsOf(session);
    const floats = await this.#measure(weights);
    const { prepared, ranges } = await inFewBits(this.#prepared, weights, quantize, opened.device, signal);
    this.#prepared = prepared;
    const calibrated = await this.#measure(weights);
    const { weights: own, activations } = quantize;
    const said = { weights: own, activations, step: session.steps, floats, calibrated, trained: null };
    const next = sessionOver(prepared.forward);
    this.#fewBits = { session: next, ranges, said };
    await next.restore(await session.snapshot());
    this.#session = next;
    this.#tell();
    this.#parts.emit({ kind: "quantized", quantized: said });
  }

  /** At the end: what the updates in few bits made of it. */
  async #measureTrained(): Promise<void> {
    if (this.#fewBits === undefined || this.#session.steps === this.#fewBits.said.step) return;
    const trained = await this.#measure(await weightsOf(this.#session));
    this.#parts.emit({ kind: "quantized", quantized: { ...this.#fewBits.said, trained } });
  }

  #measure(weights: Awaited<ReturnType<typeof weightsOf>>): Promise<Measured> {
    const { validation } = this.#prepared;
    invariant(validation !== undefined, "a run in few bits has a validation");
    return this.#evaluation.validate(validation, weights, this.#parts.signal);
  }

  async #alarmOf(made: StepResult, batches: readonly Inputs[]): Promise<TrainAlarm | undefined> {
    const session = this.#session;
    this.#refused = made.applied ? 0 : this.#refused + 1;
    if (made.alarm !== true && this.#refused < MOST_REFUSED) return undefined;
    const step = session.steps + 1;
    let fault: Fault | undefined;
    for (const inputs of batches) fault ??= await session.findFault(inputs, this.#parts.signal);
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
    const { places, emit } = this.#parts;
    if (places.checkpoint !== undefined) await this.#saveCheckpoint();
    if (places.output === undefined) return;
    const result = await this.#saveResult(places.output);
    this.#results.push(result);
    emit({ kind: "saved", step: this.#session.steps, result });
  }

  async #saveResult(path: string): Promise<TrainResult> {
    const { files, opened, signal } = this.#parts;
    const session = this.#session;
    const params = await session.params(true);
    const made = opened.prepared.modelFile?.(params, opened.title);
    if (made?.kind === "adapter")
      return adapterResult(path, await writeGguf(await files.sink(path), made.contents, { signal }), opened);
    if (made?.kind === "model") {
      await writeConverted(made.plan, [await files.sink(path)], { signal });
      return modelResult(path, made.plan.bytes);
    }
    const few = this.#fewBits;
    const facts = few === undefined ? {} : fewBitsMetadata(few.said, few.ranges);
    const pieces = weightsPieces(params, opened, session.steps, facts);
    await files.write(path, pieces, signal);
    return weightsResult(path, fileBytes(pieces), opened);
  }

  async #saveCheckpoint(): Promise<void> {
    const { places, files, emit, signal } = this.#parts;
    const session = this.#session;
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
      steps: this.#session.steps,
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

/** Why a run failed, in a sentence. */
export const problemOf = (error: unknown): string => {
  const { message, hint }: Pick<WorkbenchError, "message"> & { readonly hint?: string } = toWireError(error);
  return hint === undefined ? message : `${message}. ${hint}`;
};
