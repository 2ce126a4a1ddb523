/**
 * Training: a forward graph with one loss, the weights to train, an optimiser and a device. The gradient is compiled once, as an
 * ordinary graph. On the host path the device gives gradients and the update is done here in float64; fused, weights and
 * moments are states of the graph, the update is part of it, and a step sends only its batch and a few numbers.
 * The file is long because both paths share one state: whose turn it is, what is open, what is pending.
 */
import type { Trade } from "../compiler/recompute.ts";
import { WorkbenchError, throwIfCancelled } from "../diagnostics/errors.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import type { Graph } from "../ir/graph.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import type { FetchedTensor } from "../ir/session.ts";
import type { Numbers } from "../runtime/numbers.ts";
import { typedInputs } from "../runtime/numbers.ts";
import type { GraphInput } from "../runtime/device.ts";
import { seededRandom } from "../runtime/statistics.ts";
import { item, sizeOfShape } from "./algebra.ts";
import { firstFault } from "./alarm.ts";
import type { Clipping } from "./clipping.ts";
import { clipped, globalNorm } from "./clipping.ts";
import type { Fault } from "./fault.ts";
import { asWeight } from "./fault.ts";
import type { Forward, Gradients } from "./forward.ts";
import { curvatureOf, forwardOf, gradientsOf } from "./forward.ts";
import type { GroupRule } from "./groups.ts";
import { assign } from "./groups.ts";
import type { HostArray } from "./hostAlgebra.ts";
import { hostAlgebra, hostArray } from "./hostAlgebra.ts";
import type { ReadState } from "./flatStates.ts";
import { flatStates, grouped, readStates, stateAt } from "./flatStates.ts";
import type { HostState } from "./hostUpdate.ts";
import { startOf, updateOnHost } from "./hostUpdate.ts";
import type { LossScaleOptions, LossScaleState } from "./lossScale.ts";
import { LossScale } from "./lossScale.ts";
import type { Optimizer } from "./optimisers/optimizer.ts";
import { sgd } from "./optimisers/sgd.ts";
import type { Schedule } from "./schedules.ts";
import { scheduleOf } from "./schedules.ts";
import type { Planned } from "./stepGraphs.ts";
import * as names from "./stepGraphs.ts";
import { fusedGraph, hostGraph, statesOf } from "./stepGraphs.ts";
import type { TrainingDevice, TrainingRunner } from "./trainingDevice.ts";

export interface TrainConfig {
  /** A number or a schedule; 0.01 by default. */
  readonly lr?: number | Schedule;
  /** Plain SGD by default. */
  readonly optimizer?: Optimizer;
  readonly device: TrainingDevice;
  /** Parameters that other optimisers train, or other rates. */
  readonly groups?: readonly GroupRule[];
  readonly clipping?: Clipping;
  /** For the random signs of Sophia. */
  readonly seed?: number;
}

/** Gradients, and the optimiser on them. There is no other path: see `mlUpdateTaskEligibility`. */
export type UpdatePath = "gradient";

export interface StepResult {
  /** Before the update. */
  readonly loss: number;
  readonly path: UpdatePath;
  /**
   * False where gradients were no numbers and the weights stayed: with a scaled loss, whose scale was then halved, and with
   * the NaN alarm.
   */
  readonly applied: boolean;
  /** With `withGradientNorms`: the length of each weight's gradient before clipping, in the order of the trained weights. */
  readonly norms?: readonly number[];
  /** Only with the NaN alarm: the loss or a gradient is no number, and no lower scale of the loss can help. See `findFault`. */
  readonly alarm?: true;
}

/** Weights and moments by name, in float64, and where the training stands. */
export interface Snapshot {
  readonly steps: number;
  readonly tensors: Readonly<Record<string, HostTensor>>;
  readonly scale?: LossScaleState;
}

type Inputs = Readonly<Record<string, Numbers>>;

export class TrainingSession {
  readonly config: Required<Omit<TrainConfig, "clipping" | "seed">> & {
    readonly clipping: Clipping;
    readonly seed: number;
  };
  readonly updatePath: UpdatePath = "gradient";
  readonly #forward: Forward;
  readonly #plan: readonly Planned[];
  #precision: PrecisionPolicy = "f32";
  #scale: LossScale | undefined;
  #wantsFused = false;
  #wantsNorms = false;
  #isGuarded = false;
  #budget: number | undefined;
  #trade: Trade | undefined;
  /** None where the device keeps them. */
  #states: readonly HostState[];
  #steps = 0;
  #sums: readonly HostArray[] = [];
  #pending = 0;
  #opened: Promise<Opened> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isDisposed = false;

  /** `trainable`: parameters or inputs of the forward graph, in f32. `initial`: their numbers before the first step. */
  constructor(forward: Graph, trainable: readonly string[], initial: Inputs, config: TrainConfig) {
    const { lr = 0.01, optimizer = sgd(), groups = [], clipping = {}, seed = 0 } = config;
    if (trainable.length === 0) throw wrong("trainable", "none", "at least one parameter");
    this.config = { lr, optimizer, groups, clipping, seed, device: config.device };
    this.#forward = forwardOf(forward, trainable);
    const { trained } = this.#forward;
    const assigned = assign(trained, groups, { lr, optimizer });
    this.#plan = trained.map((one, i) => {
      const own = item(assigned, i);
      return { ...one, ...own, slots: own.optimizer.slots(one.shape) };
    });
    this.#states = this.#plan.map(({ name, shape, optimizer: own }) =>
      startOf(own, initialArray(name, shape, initial)),
    );
    for (const name of Object.keys(initial))
      if (!trainable.includes(name)) throw wrong("initial", name, `one of ${trainable.join(", ")}`);
  }

  /** In which floats the gradient is computed; weights and moments stay in f32. With f16, the loss is scaled. */
  withPrecisionPolicy(policy: PrecisionPolicy, scaling?: LossScaleOptions): this {
    this.#beforeStart("withPrecisionPolicy");
    this.#precision = policy;
    this.#scale = policy === "f32" && scaling === undefined ? undefined : new LossScale(scaling);
    return this;
  }

  /** Weights and moments stay on the device, and the update runs there. Where a device cannot, it is ignored: see fusedActive. */
  withFusedOptimizer(): this {
    this.#beforeStart("withFusedOptimizer");
    this.#wantsFused = true;
    return this;
  }

  /** Every step tells how long the gradient of each weight is. */
  withGradientNorms(): this {
    this.#beforeStart("withGradientNorms");
    this.#wantsNorms = true;
    return this;
  }

  /**
   * A step whose loss or gradients are no numbers changes nothing and says so by `alarm`. It costs one more pass over the
   * gradients. With a scaled loss, a step is an alarm only where its loss is no number or the scale is 1 already.
   */
  withNanAlarm(): this {
    this.#beforeStart("withNanAlarm");
    this.#isGuarded = true;
    return this;
  }

  /** Bytes, in f32, for what lies between a step's inputs and its gradients: where it is not enough, activations are computed twice. */
  withActivationBudget(bytes: number): this {
    this.#beforeStart("withActivationBudget");
    this.#trade = this.#gradientGraphs(bytes).trade;
    this.#budget = bytes;
    return this;
  }

  /** What the budget came to: bytes with and without, operations added. */
  get activationTrade(): Trade | undefined {
    return this.#trade;
  }

  #gradientGraphs(budget: number | undefined): Gradients {
    return gradientsOf(this.#forward, this.config.device.castsItself ? "f32" : this.#precision, budget);
  }

  get fusedActive(): boolean {
    return this.#wantsFused && this.config.device.keepsVariables === true;
  }

  /** Why a fused optimiser that was asked for is not active. */
  get fusedRefusal(): string | undefined {
    const { keepsVariables } = this.config.device;
    return this.#wantsFused && keepsVariables !== true ? keepsVariables : undefined;
  }

  get precision(): PrecisionPolicy {
    return this.#precision;
  }

  /** What the loss is multiplied by; 1 where it is not scaled. */
  get lossScale(): number {
    return this.#scale?.scale ?? 1;
  }

  /** The learning rate of a step, of the session's own optimiser. */
  rateAt(step: number): number {
    return scheduleOf(this.config.lr)(step);
  }

  /** Updates so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Batches since the last update. */
  get pendingAccumulation(): number {
    return this.#pending;
  }

  /** What Core ML's own training would need, and why it is not taken. */
  mlUpdateTaskEligibility(): { readonly supported: false; readonly reason: string } {
    return {
      supported: false,
      reason:
        "MLUpdateTask trains updatable layers of Core ML's older neural-network format; this graph becomes an ML Program, " +
        "which it cannot update. Gradients are computed as an ordinary graph instead.",
    };
  }

  /** One batch and one update. */
  step(inputs: Inputs, signal?: AbortSignal): Promise<StepResult> {
    return this.#inTurn(async () => {
      throwIfCancelled(signal);
      if (this.#pending > 0) throw wrong("step", `${this.#pending} accumulated batches`, "stepAccumulated first");
      const opened = await this.#open();
      if (opened.isFused) return this.#fusedStep(opened, inputs, signal);
      return this.#hostStep(opened, await this.#gradients(opened, inputs, signal), inputs, signal);
    });
  }

  /** One update with the mean of the gradients of these batches; `loss` is the mean of theirs. Several need the host path. */
  stepOver(batches: readonly Inputs[], signal?: AbortSignal): Promise<StepResult> {
    const [first, ...rest] = batches;
    if (first === undefined) throw wrong("stepOver", "no batch", "at least one");
    if (rest.length === 0) return this.step(first, signal);
    return this.#inTurn(async () => {
      if (this.#pending > 0) throw wrong("stepOver", `${this.#pending} accumulated batches`, "stepAccumulated first");
      this.#needsHost("stepOver");
      const opened = await this.#open();
      let sum = await this.#gradients(opened, first, signal);
      for (const inputs of rest) {
        throwIfCancelled(signal);
        const { loss, gradients } = await this.#gradients(opened, inputs, signal);
        sum = { loss: sum.loss + loss, gradients: added(sum.gradients, gradients) };
      }
      const mean = { loss: sum.loss / batches.length, gradients: shared(sum.gradients, batches.length) };
      return this.#hostStep(opened, mean, batches.at(-1) ?? first, signal);
    });
  }

  async #hostStep(
    opened: Opened,
    { loss, gradients }: Batch,
    inputs: Inputs,
    signal: AbortSignal | undefined,
  ): Promise<StepResult> {
    const norms = this.#wantsNorms ? gradients.map((one) => globalNorm(hostAlgebra, [one]).data[0] ?? NaN) : undefined;
    const isLeast = this.#isLeastScale;
    if (this.#isGuarded && !Number.isFinite(loss)) return this.#result(loss, false, isLeast, norms);
    return this.#result(loss, await this.#update(opened, gradients, inputs, signal), isLeast, norms);
  }

  #needsHost(who: string): void {
    if (!this.fusedActive) return;
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] ${who}: got a fused session, expected a host one`, {
      hint: "A fused step updates at once. Leave withFusedOptimizer out to add batches up.",
    });
  }

  /** One batch without an update; gives its loss. */
  accumulate(inputs: Inputs, signal?: AbortSignal): Promise<number> {
    return this.#inTurn(async () => {
      throwIfCancelled(signal);
      this.#needsHost("accumulate");
      const opened = await this.#open();
      const { loss, gradients } = await this.#gradients(opened, inputs, signal);
      this.#sums = this.#pending === 0 ? gradients : added(this.#sums, gradients);
      this.#pending++;
      this.#latest = inputs;
      return loss;
    });
  }

  #latest: Inputs = {};

  /** An update with the mean of the accumulated gradients; gives how many there were. */
  stepAccumulated(signal?: AbortSignal): Promise<number> {
    return this.#inTurn(async () => {
      const count = this.#pending;
      if (count === 0) return 0;
      await this.#update(await this.#open(), shared(this.#sums, count), this.#latest, signal);
      this.#pending = 0;
      this.#sums = [];
      return count;
    });
  }

  /**
   * Runs the loss and its gradients once more on this batch, with the weights as they are now, and names the first operation
   * that made no number of numbers; undefined where all are numbers. Sums are taken in the graph's order, which a fused
   * kernel may not do. After a step that was applied, the weights are those that it made: begin with `withNanAlarm`.
   */
  findFault(inputs: Inputs, signal?: AbortSignal): Promise<Fault | undefined> {
    return this.#inTurn(async () => {
      throwIfCancelled(signal);
      const { device } = this.config;
      const gradients = this.#gradientGraphs(undefined);
      const weights = this.#sent(await this.#current());
      const scale = Float32Array.of(this.#scale?.scale ?? 1);
      const given = { ...typedInputs(inputsOf(this.#forward), inputs), ...weights, [names.SCALE]: scale };
      const open = (graph: Graph): Promise<TrainingRunner> => device.open(graph, this.#precision);
      const fault = await firstFault(hostGraph(this.#forward, gradients), given, open, signal);
      return fault?.op === "input" && fault.name in weights ? asWeight(fault) : fault;
    });
  }

  /** A weight as it is now. `evaluated`: as it is to be used, where the optimiser keeps an average. */
  async param(name: string, evaluated = false): Promise<HostTensor> {
    const all = await this.params(evaluated);
    const found = all[name];
    if (found === undefined) throw wrong("param", name, `one of ${this.#plan.map((one) => one.name).join(", ")}`);
    return found;
  }

  params(evaluated = false): Promise<Readonly<Record<string, HostTensor>>> {
    return this.#inTurn(async () => {
      const states = await this.#current();
      return Object.fromEntries(
        this.#plan.map(({ name, optimizer }, i) => {
          const { parameter, slots } = item(states, i);
          const own = evaluated ? (optimizer.evaluated?.(hostAlgebra, parameter, slots) ?? parameter) : parameter;
          return [name, hostTensor("f32", own.shape, own.data.slice())];
        }),
      );
    });
  }

  /** Everything that the next step depends on. A session that is given it goes on with the same bits. */
  snapshot(): Promise<Snapshot> {
    return this.#inTurn(async () => {
      if (this.#pending > 0) throw wrong("snapshot", `${this.#pending} accumulated batches`, "stepAccumulated first");
      const states = await this.#current();
      const tensors = statesOf(this.#plan).map(({ weight, slot, shape }): readonly [string, HostTensor] => {
        const own = stateAt(states, weight, slot);
        return [this.#stateName(weight, slot), hostTensor("f64", shape, own.data.slice())];
      });
      const scale = this.#scale?.state;
      return { steps: this.#steps, tensors: Object.fromEntries(tensors), ...(scale === undefined ? {} : { scale }) };
    });
  }

  /** Goes on from a snapshot of a session with the same weights, optimisers and precision. */
  restore({ steps, tensors, scale }: Snapshot): Promise<void> {
    return this.#inTurn(async () => {
      const places = statesOf(this.#plan);
      const expected = places.map(({ weight, slot }) => this.#stateName(weight, slot));
      const odd = [...Object.keys(tensors), ...expected].find((name) => !expected.includes(name) || !(name in tensors));
      if (odd !== undefined) throw wrong("snapshot", Object.keys(tensors).join(", ") || "none", expected.join(", "));
      if ((scale === undefined) !== (this.#scale === undefined))
        throw wrong(
          "snapshot",
          scale === undefined ? "no scale of the loss" : "a scale of the loss",
          "the same precision",
        );
      const read = places.map(({ weight, slot, shape }): ReadState => {
        const name = this.#stateName(weight, slot);
        const { data } = item([tensors[name]], 0);
        if (data.length !== sizeOfShape(shape)) throw wrong(name, `${data.length} numbers`, `${sizeOfShape(shape)}`);
        return { weight, array: hostArray(shape, data.slice()), ...(slot === undefined ? {} : { slot }) };
      });
      this.#states = grouped(this.#plan, read);
      this.#steps = steps;
      this.#pending = 0;
      if (this.#scale !== undefined && scale !== undefined) this.#scale.state = scale;
      const opened = await this.#opened;
      if (opened?.isFused === true) await this.#handOver(opened.runner);
    });
  }

  /** Gives the device's memory back; the session is over. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.#last;
    const opened = await this.#opened;
    await opened?.runner.dispose();
    await opened?.curvature?.dispose();
  }

  // ------------------------------------------------------------------------------------------ inside

  /** Calls wait for each other: a step begins with the weights of the one before it. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(() => {
      if (this.#isDisposed) throw new WorkbenchError("HANDLE_UNKNOWN", "[training] the session is closed");
      return work();
    });
    this.#last = next.catch(() => undefined);
    return next;
  }

  #stateName(weight: number, slot: string | undefined): string {
    const { name } = item(this.#plan, weight);
    return slot === undefined ? name : names.slotName(name, slot);
  }

  #beforeStart(who: string): void {
    if (this.#opened !== undefined) throw wrong(who, "a session that has begun", "a call before the first step");
  }

  #open(): Promise<Opened> {
    return (this.#opened ??= this.#compile());
  }

  async #compile(): Promise<Opened> {
    const { device, clipping } = this.config;
    const gradients = this.#gradientGraphs(this.#budget);
    const wantsCurvature = this.#plan.some(({ optimizer }) => optimizer.curvatureAt !== undefined);
    const curvature = wantsCurvature ? curvatureOf(this.#forward) : undefined;
    const inputs = inputsOf(this.#forward);
    const { loss } = this.#forward;
    if (!this.fusedActive) {
      const runner = await device.open(hostGraph(this.#forward, gradients), this.#precision);
      const bent = curvature && (await device.open(curvature, "f32"));
      return { isFused: false, runner, inputs, loss, ...(bent === undefined ? {} : { curvature: bent }) };
    }
    const isScaled = this.#scale !== undefined;
    const graph = fusedGraph(this.#forward, gradients, this.#plan, {
      clipping,
      isScaled,
      givesNorms: this.#wantsNorms,
      isGuarded: this.#isGuarded,
      ...(curvature === undefined ? {} : { curvature }),
    });
    const runner = await device.open(graph, this.#precision);
    await this.#handOver(runner);
    return { isFused: true, runner, inputs, loss };
  }

  /** The device keeps weights and moments from now on: in float64 they would take twice its memory here. */
  async #handOver(runner: TrainingRunner): Promise<void> {
    await runner.write(flatStates(this.#plan, this.#states));
    this.#states = [];
  }

  async #gradients(opened: Opened, given: Inputs, signal: AbortSignal | undefined): Promise<Batch> {
    const scale = this.#scale?.scale ?? 1;
    const outputs = await opened.runner.run(
      { ...typedInputs(opened.inputs, given), ...this.#sent(this.#states), [names.SCALE]: Float32Array.of(scale) },
      [opened.loss, ...this.#plan.map(({ name }) => names.gradientOutput(name))],
      signal,
    );
    const unscale = hostAlgebra.scalar(1 / scale);
    const gradients = this.#plan.map(({ name, shape }) => arrayIn(outputs, names.gradientOutput(name), shape));
    return {
      loss: numberIn(outputs, opened.loss),
      gradients: scale === 1 ? gradients : gradients.map((one) => hostAlgebra.mul(one, unscale)),
    };
  }

  /** Weights as the device takes them. */
  #sent(states: readonly HostState[]): Readonly<Record<string, Float32Array>> {
    return Object.fromEntries(
      this.#plan.map(({ name }, i) => [name, Float32Array.from(item(states, i).parameter.data)]),
    );
  }

  /** A lower scale of the loss cannot help. */
  get #isLeastScale(): boolean {
    return this.#scale === undefined || this.#scale.scale === 1;
  }

  #result(loss: number, applied: boolean, isLeastScale: boolean, norms: readonly number[] | undefined): StepResult {
    const isAlarm = this.#isGuarded && !applied && (!Number.isFinite(loss) || isLeastScale);
    return {
      ...{ loss, path: this.updatePath, applied },
      ...(isAlarm ? { alarm: true } : {}),
      ...(norms === undefined ? {} : { norms }),
    };
  }

  /** True where it was applied. */
  async #update(
    opened: Opened,
    gradients: readonly HostArray[],
    inputs: Inputs,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    if (this.#scale !== undefined || this.#isGuarded) {
      const isFinite = Number.isFinite(globalNorm(hostAlgebra, gradients).data[0]);
      this.#scale?.after(isFinite);
      if (!isFinite) return false;
    }
    const step = this.#steps + 1;
    const used = clipped(hostAlgebra, gradients, this.config.clipping);
    const bent = await this.#curvature(opened, inputs, step, signal);
    this.#states = this.#plan.map(({ optimizer, rate }, i) =>
      updateOnHost(optimizer, item(this.#states, i), item(used, i), { step, learningRate: rate(step) }, bent?.[i]),
    );
    this.#steps = step;
    return true;
  }

  #asksCurvature(step: number): boolean {
    return this.#plan.some(({ optimizer }) => optimizer.curvatureAt?.(step) === true);
  }

  /** Of the step, so that a session that goes on later draws the same. */
  #signs(step: number): Readonly<Record<string, Float32Array>> {
    const random = seededRandom(this.config.seed + step);
    return Object.fromEntries(
      this.#plan.map(({ name, shape }) => [
        name,
        Float32Array.from({ length: sizeOfShape(shape) }, () => (random() < 0.5 ? -1 : 1)),
      ]),
    );
  }

  async #curvature(
    { curvature, inputs }: Opened,
    given: Inputs,
    step: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly HostArray[] | undefined> {
    if (curvature === undefined || !this.#asksCurvature(step)) return undefined;
    const signs = this.#signs(step);
    const along = Object.fromEntries(Object.entries(signs).map(([name, own]) => [`tangent.${name}`, own]));
    const outputs = this.#plan.map(({ name }) => `tangent.gradient.${name}`);
    const made = await curvature.run(
      { ...typedInputs(inputs, given), ...this.#sent(this.#states), ...along },
      outputs,
      signal,
    );
    return this.#plan.map(({ name, shape }, i) =>
      hostAlgebra.mul(arrayIn(made, item(outputs, i), shape), hostArray(shape, signs[name] ?? [])),
    );
  }

  async #fusedStep(opened: Opened, given: Inputs, signal: AbortSignal | undefined): Promise<StepResult> {
    const step = this.#steps + 1;
    const numbers: Record<string, Float32Array> = {};
    for (const { group, optimizer, rate } of this.#plan)
      for (const [name, value] of Object.entries(optimizer.scalars({ step, learningRate: rate(step) })))
        numbers[names.scalarName(group, name)] = Float32Array.of(value);
    const scale = this.#scale;
    if (scale !== undefined) {
      numbers[names.SCALE] = Float32Array.of(scale.scale);
      numbers[names.UNSCALE] = Float32Array.of(1 / scale.scale);
    }
    if (this.#plan.some(({ optimizer }) => optimizer.curvatureAt !== undefined)) {
      const isAsked = this.#asksCurvature(step);
      numbers[names.CURVED] = Float32Array.of(isAsked ? 1 : 0);
      const signs = isAsked ? this.#signs(step) : undefined;
      for (const { name, shape } of this.#plan)
        numbers[names.signsName(name)] = signs?.[name] ?? new Float32Array(sizeOfShape(shape));
    }
    const isChecked = scale !== undefined || this.#isGuarded;
    const fetch = [opened.loss, ...(isChecked ? [names.FINITE] : []), ...(this.#wantsNorms ? [names.NORMS] : [])];
    const outputs = await opened.runner.run({ ...typedInputs(opened.inputs, given), ...numbers }, fetch, signal);
    const isLeast = this.#isLeastScale;
    const applied = !isChecked || numberIn(outputs, names.FINITE) !== 0;
    scale?.after(applied);
    if (applied) this.#steps = step;
    const norms = this.#wantsNorms ? Array.from(fetched(outputs, names.NORMS)) : undefined;
    return this.#result(numberIn(outputs, opened.loss), applied, isLeast, norms);
  }

  async #current(): Promise<readonly HostState[]> {
    const opened = await this.#opened;
    if (opened?.isFused !== true) return this.#states;
    return readStates(this.#plan, await opened.runner.read());
  }
}

const inputsOf = ({ data }: Forward): readonly GraphInput[] =>
  data.map((node) => {
    const [type] = node.outputs;
    if (type === undefined) throw wrong("forward", "an input without a type", "a type");
    return { name: String(node.attrs["name"]), type };
  });

interface Opened {
  readonly isFused: boolean;
  readonly runner: TrainingRunner;
  /** Of the Hessian's product, on the host path of an optimiser that wants it. */
  readonly curvature?: TrainingRunner;
  readonly inputs: readonly GraphInput[];
  readonly loss: string;
}

interface Batch {
  readonly loss: number;
  readonly gradients: readonly HostArray[];
}

const added = (sums: readonly HostArray[], more: readonly HostArray[]): readonly HostArray[] =>
  more.map((one, i) => hostAlgebra.add(one, item(sums, i)));

const shared = (sums: readonly HostArray[], among: number): readonly HostArray[] =>
  sums.map((one) => hostAlgebra.mul(one, hostAlgebra.scalar(1 / among)));

const wrong = (who: string, got: string, expected: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[training] ${who}: got ${got}, expected ${expected}`);

function initialArray(name: string, shape: readonly number[], initial: Inputs): HostArray {
  const given = initial[name];
  if (given === undefined) throw wrong("initial", Object.keys(initial).join(", ") || "none", `numbers of ${name}`);
  const data = "data" in given ? given.data : given;
  if (data.length !== sizeOfShape(shape))
    throw wrong(`initial ${name}`, `${data.length} numbers`, `${sizeOfShape(shape)}`);
  return hostArray(shape, Float64Array.from(data, Math.fround));
}

function fetched(outputs: Readonly<Record<string, FetchedTensor>>, name: string): ArrayLike<number> {
  const tensor = outputs[name];
  if (tensor === undefined) throw new WorkbenchError("BUG_INVARIANT", `[training] no output ${name}`);
  return numbersIn(tensor.dtype, tensor.bytes);
}

const numberIn = (outputs: Readonly<Record<string, FetchedTensor>>, name: string): number =>
  fetched(outputs, name)[0] ?? NaN;

const arrayIn = (outputs: Readonly<Record<string, FetchedTensor>>, name: string, shape: readonly number[]): HostArray =>
  hostArray(shape, fetched(outputs, name));
