/** One benchmark: its subjects made ready, every cell of the matrix in turn, and what it gave. */
import type { View } from "../../contract/define.ts";
import { MOST_DECIDING_ROUNDS } from "../../contract/decision.ts";
import { MOST_CELLS, MOST_SUBJECTS } from "../../contract/views/bench.ts";
import type { benchInput, BenchItem, BenchRecord, BenchResult, BenchSubject } from "../../contract/views/bench.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import type { MachineState } from "../../contract/views/machine.ts";
import { BENCH_HISTORY, identityOf } from "../../contract/views/session.ts";
import { VERSION } from "../../contract/version.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import { requireDecoder } from "../../models/architecture.ts";
import type { BenchReading, BenchWork } from "../../runtime/bench.ts";
import { benchCell, benchTest } from "../../runtime/bench.ts";
import { requireCacheType } from "../../runtime/devices/provider.ts";
import type { Cell } from "../../runtime/inTurn.ts";
import { inTurn } from "../../runtime/inTurn.ts";
import type { EngineDevices } from "../devices.ts";
import type { JobHandle } from "../jobs.ts";
import type { Decoders, Lease } from "../models/decoders.ts";
import { leaseInPhases } from "../models/decoders.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { settledStream } from "../progressStream.ts";
import type { CoreKinds, Histories, Machine } from "../services.ts";
import { benchNotes, energyView, kneesOf, testView } from "./benchViews.ts";
import { decidingRounds } from "./decidingRounds.ts";
import type { Decided } from "./decidingRounds.ts";
import { createGate, pause } from "./gate.ts";
import type { Gate } from "./gate.ts";
import { llamaBenchJson } from "./llamaBench.ts";
import { stateNotes } from "./machineState.ts";

export interface BenchParts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly devices: EngineDevices;
  readonly machine: Machine;
  readonly defaultThreads: number;
  /** Where results are kept. */
  readonly histories: Histories;
  /** RLX_ALLOW_THROTTLE. */
  readonly allowThrottle: boolean;
}

export type BenchRequest = View<typeof benchInput>;

/** A subject, ready to run. */
interface Ready {
  readonly model: OpenModel;
  readonly lease: Lease;
  readonly view: BenchSubject;
}

interface Planned {
  readonly work: BenchWork;
  readonly subject: number;
  readonly ready: Ready;
}

const listOf = <T>(value: T | readonly T[]): readonly T[] => [...new Set([value].flat() as readonly T[])];

export async function* benchRun(
  parts: BenchParts,
  input: BenchRequest,
  { job, signal, phase }: { job: JobHandle; signal: AbortSignal; phase: (name: string, sentence: string) => PhaseItem },
): AsyncGenerator<BenchItem, BenchResult> {
  const { precision, cacheType } = input;
  const works = worksOf(input);
  const chosen = chosenSubjects(parts, input, works);
  // Only now: what cannot be measured is refused as the first answer.
  yield phase("prepare", "Preparing the model");
  const counter = parts.machine.energy();
  const meter = counter.kind === "counter" ? counter.joules : undefined;
  const loading = { began: performance.now(), joules: meter?.() ?? 0 };
  const ready: Ready[] = [];
  try {
    for (const { model, device, threads } of chosen) {
      const context = Math.max(...works.map(({ tokens, depth }) => tokens + depth)) + 1;
      const lease = yield* leaseInPhases(parts.decoders, model, {
        ...{ device, context, threads, precision, cacheType, own: true, signal },
      });
      const facts = lease.device.facts(lease.session.threads);
      const kernels = [
        facts.kernels,
        ...(precision === "f32" ? [] : [`${precision} precision`]),
        ...(cacheType === null ? [] : [`${cacheType} cache`]),
      ].join(", ");
      const view: BenchSubject = {
        ...{ model: model.id, title: model.label, device: lease.device.id, threads: lease.session.threads },
        ...{ kernels, truth: facts.truth },
      };
      // A device without threads of its own is one subject, however many were asked for.
      const known = ready.some(
        ({ view: { model: id, device: on, threads: of } }) =>
          id === view.model && on === view.device && of === view.threads,
      );
      if (known) await lease.release();
      else ready.push({ model, lease, view });
    }
    const kinds = await parts.machine.coreKinds();
    const load = { seconds: (performance.now() - loading.began) / 1000, joules: (meter?.() ?? 0) - loading.joules };
    const plan = works.flatMap((work) => ready.map((each, subject): Planned => ({ work, subject, ready: each })));
    yield {
      kind: "plan",
      subjects: ready.map(({ view }) => view),
      cells: plan.map(({ work, subject }) => ({ ...work, subject })),
    };
    const context: ResultContext = { plan, ready, began: new Date(), counter, load, kinds, machine: parts.machine };
    const measured = yield* settledStream<BenchItem, Measured>((emit) => {
      const mode = parts.allowThrottle ? "warn" : input.conditions;
      const say = (sentence: string): void => {
        job.update("waiting for a quiet machine", null);
        emit(phase("conditions", sentence));
      };
      const gate = createGate(parts, { mode, waitSeconds: input.waitSeconds, signal, say });
      const keep = async (part: Measured): Promise<void> => {
        await keepResult(parts.histories, ready, resultOf(context, part));
      };
      return measure(plan, { input, signal, emit, job, gate, meter, keep });
    });
    const result = resultOf(context, measured);
    const notes = await keepResult(parts.histories, ready, result);
    const own = ready.flatMap(({ lease }) => lease.decoder.notes?.() ?? []);
    return { ...result, notes: [...result.notes, ...own, ...notes] };
  } finally {
    for (const { lease } of ready) await lease.release();
  }
}

interface Measured {
  readonly taken: readonly (readonly BenchReading[])[];
  readonly before: MachineState;
  readonly after: MachineState;
  readonly red: readonly string[];
  readonly stopped: string | null;
  /** Watts of the machine that does nothing; null where they are not counted. */
  readonly idle: number | null;
  /** By cell, where it ended when it was decided. */
  readonly decided?: Decided | undefined;
}

interface ResultContext {
  readonly plan: readonly Planned[];
  readonly ready: readonly Ready[];
  readonly began: Date;
  readonly counter: ReturnType<Machine["energy"]>;
  readonly load: { readonly seconds: number; readonly joules: number };
  readonly kinds: CoreKinds | null;
  readonly machine: Machine;
}

function resultOf(
  { plan, ready, began, counter, load, kinds, machine }: ResultContext,
  measured: Measured,
): BenchResult {
  const { before, after, red, stopped, idle, taken } = measured;
  const tests = plan.map(({ work, subject, ready: each }, at) => {
    const readings = taken[at] ?? [];
    const decision = measured.decided?.get(at);
    return { test: benchTest(work, began, readings), subject, ready: each, view: each.view, readings, decision };
  });
  const first = ready[0]?.view;
  if (first === undefined) throw new WorkbenchError("BUG_INVARIANT", "[bench] a benchmark without a subject");
  const conditions = { before, after };
  // A knee is a verdict, too.
  const swept = red.length > 0 ? { knees: [], notes: [] } : kneesOf(tests, kinds);
  return {
    kind: "done",
    subjects: ready.map(({ view }) => view),
    tests: tests.map(({ test, subject, readings, view: { truth }, decision }) => ({
      ...testView(test, { subject, readings, idle, truth }),
      ...(decision !== undefined && { decision }),
    })),
    knees: swept.knees,
    energy: energyView(counter, { idle, load, tests }),
    ...{ device: first.device, truth: first.truth, threads: first.threads, kernels: first.kernels },
    ...{ machine: machine.chip, system: machine.osTitle, version: VERSION },
    ...{ conditions, red: [...red], stopped },
    notes: [
      ...swept.notes,
      ...benchNotes(
        tests.map(({ test }) => test),
        machine,
      ),
      // What is red is said as such.
      ...(red.length > 0 ? [] : stateNotes(conditions)),
    ],
    json: llamaBenchJson(tests.map(({ test, ready: each }) => ({ test, ...factsOf(each, machine) }))),
  };
}

interface MeasureTools {
  readonly input: BenchRequest;
  readonly signal: AbortSignal;
  readonly emit: (item: BenchItem) => void;
  readonly job: JobHandle;
  readonly gate: Gate;
  readonly meter: (() => number) | undefined;
  /** What was measured until it was cancelled. */
  readonly keep: (part: Measured) => Promise<void>;
}

async function measure(plan: readonly Planned[], tools: MeasureTools): Promise<Measured> {
  const { input, signal, emit, job, gate, meter, keep } = tools;
  const before = await gate.begin();
  const idle = meter === undefined ? null : await idleWatts(meter, signal);
  const options = { signal, meter };
  const cells = plan.map(({ work, ready }): Cell<BenchReading> => benchCell(ready.lease.session, work, options));
  const { seconds, warmup, decideWithin } = input;
  const repeats = decideWithin === null ? input.repeats : Math.min(input.repeats, MOST_DECIDING_ROUNDS);
  const counted = cells.map((): BenchReading[] => []);
  const rates = (cell: number): readonly number[] =>
    (counted[cell] ?? []).map((reading) => (plan[cell]?.work.tokens ?? NaN) / reading.seconds);
  const deciding = decideWithin === null ? undefined : decidingRounds(plan, { seconds: decideWithin, rates });
  const afterRound = async (): Promise<"go on" | "again" | "stop"> => {
    const next = await gate.afterRound();
    return next === "go on" && deciding?.afterRound() === "stop" ? "stop" : next;
  };
  try {
    const taken = await inTurn(cells, {
      ...{ repeats, warmup, signal, afterRound },
      budget: budgetOf(input, seconds, repeats),
      onSample({ cell, index, warmup: isWarmup, sample, progress }) {
        const planned = plan[cell];
        if (planned === undefined) return;
        const { test, tokens } = planned.work;
        // In its place: a round that is taken again writes over what was.
        if (!isWarmup) counted[cell]?.splice(index, 1, sample);
        job.update(`${test} ${isWarmup ? "warm-up" : String(index + 1)}`, progress.done / progress.total);
        const rate = tokens / sample.seconds;
        emit({ kind: "sample", cell, test, index, warmup: isWarmup, seconds: sample.seconds, rate, ...progress });
      },
    });
    return {
      taken,
      before,
      after: await gate.end(),
      red: gate.red(),
      stopped: gate.stopped(),
      idle,
      decided: deciding?.decided(),
    };
  } catch (error) {
    const isPartial = counted.some((readings) => readings.length > 0);
    if (toWireError(error).code === "CANCELLED" && isPartial)
      await keep({ taken: counted, before, after: before, red: gate.red(), stopped: "It was stopped.", idle });
    throw error;
  }
}

/** A time to decide in is kept, whatever can be told then. */
function budgetOf({ decideWithin }: BenchRequest, seconds: number | null, repeats: number) {
  if (decideWithin !== null) return { seconds: decideWithin, least: 1 };
  return seconds === null ? undefined : { seconds, least: Math.min(repeats, LEAST_IN_BUDGET) };
}

/** An interval needs six. */
const LEAST_IN_BUDGET = 6;
const IDLE_SECONDS = 1;

async function idleWatts(meter: () => number, signal: AbortSignal): Promise<number> {
  const [began, joules] = [performance.now(), meter()];
  await pause(IDLE_SECONDS, signal);
  return (meter() - joules) / ((performance.now() - began) / 1000);
}

/** By depth, then prompts, then generation: what is compared stands side by side in a round. */
function worksOf({ promptTokens, generateTokens, depth }: BenchRequest): readonly BenchWork[] {
  const works = listOf(depth).flatMap((each): readonly BenchWork[] => [
    ...listOf(promptTokens).map((tokens) => ({ test: "pp", tokens, depth: each }) as const),
    ...listOf(generateTokens).map((tokens) => ({ test: "tg", tokens, depth: each }) as const),
  ]);
  const found = works.filter(({ tokens }) => tokens > 0);
  if (found.length === 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[bench] got 0 prompt tokens and 0 generated ones, expected something to measure",
    );
  return found;
}

/** Everything that can be refused is refused before anything is made ready. */
function chosenSubjects(parts: BenchParts, input: BenchRequest, works: readonly BenchWork[]) {
  const most = Math.max(...works.map(({ tokens, depth }) => tokens + depth));
  const devices = listOf(input.device).map((id) => {
    const device = parts.devices.able(id, "measure", "bench");
    requireCacheType(device, input.cacheType ?? undefined);
    return device.id;
  });
  const threads = input.threads === null ? [parts.defaultThreads] : listOf(input.threads);
  const subjects = listOf([input.model, ...input.others]).flatMap((id) => {
    const model = parts.store.get(id);
    requireRoom(model, "bench", most);
    return devices.flatMap((device) => threads.map((each) => ({ model, device, threads: each })));
  });
  if (input.decideWithin !== null && subjects.length < 2)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[bench] decideWithin: got one subject, expected two or more of which one may be faster",
      { hint: "Name a second model, device or number of threads." },
    );
  if (subjects.length > MOST_SUBJECTS || subjects.length * works.length > MOST_CELLS)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[bench] got ${subjects.length} subjects with ${works.length} tests each, expected at most ${MOST_SUBJECTS} and ${MOST_CELLS} cells`,
      { hint: "Measure fewer at once." },
    );
  return subjects;
}

/** Before anything is made ready: a measurement has as many tokens as were asked for, or is none. */
export function requireRoom(model: OpenModel, what: string, tokens: number): void {
  const { description } = model;
  if (description.context === undefined || tokens <= description.context) return;
  // What cannot run at all has no use for fewer tokens.
  requireDecoder(model.requireFile(what));
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[${what}] got ${tokens} tokens, expected at most ${description.context}: the model's context ends there`,
    { hint: "Measure fewer tokens." },
  );
}

function factsOf({ model, lease }: Ready, machine: Machine) {
  const facts = lease.device.facts(lease.session.threads);
  return {
    ...{ model, threads: lease.session.threads, machine: machine.chip, backends: facts.backend },
    ...{ cacheType: lease.decoder.cacheType, chunk: lease.session.facts.chunk, mapped: facts.mapped },
  };
}

/** Adds a line to the history for each model. Notes what is in the way: the result is shown all the same. */
async function keepResult(histories: Histories, ready: readonly Ready[], result: BenchResult): Promise<string[]> {
  const { machine, system, version, conditions, red, stopped, energy } = result;
  const models = [...new Set(ready.map(({ model }) => model))];
  try {
    for (const model of models) {
      const own = result.subjects.flatMap((subject, at) => (subject.model === model.id ? [at] : []));
      const tests = result.tests
        .filter(({ subject, samples }) => own.includes(subject) && samples.length > 0)
        .map(({ tokenSeconds: _, ...test }) => ({ ...test, subject: own.indexOf(test.subject) }));
      const subjects = result.subjects.filter((subject) => subject.model === model.id);
      const record: BenchRecord = {
        ...{ machine, system, version, conditions, red, stopped, energy },
        subjects,
        tests,
      };
      const { title } = model.description;
      const { headerHash, byteLength } = model.requireFile("bench");
      const identity = identityOf(title, { headerHash, bytes: byteLength });
      const value = JSON.parse(JSON.stringify(record)) as Json;
      await histories.append(BENCH_HISTORY, { at: Date.now(), model: { title, identity, path: model.path }, value });
    }
    return [];
  } catch (error) {
    return [`This result is not in the history: ${toWireError(error).message}.`];
  }
}
