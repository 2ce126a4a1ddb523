/** Benchmarks and profiles of real runs, on every device whose times say something. */
import type { EngineHandlers } from "../../contract/contract.ts";
import { LEAST_REPEATS, intervalName } from "../../contract/views/run.ts";
import type { BenchTest, ProfileRow, ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireDecoder } from "../../models/architecture.ts";
import type { BenchSample, BenchTest as Measured } from "../../runtime/bench.ts";
import { runBench } from "../../runtime/bench.ts";
import type { ProfilePhase, ProfileReport } from "../../runtime/profile.ts";
import { profileDecoder } from "../../runtime/profile.ts";
import type { Decoders } from "../models/decoders.ts";
import { leaseInPhases } from "../models/decoders.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import { progressStream } from "../progressStream.ts";
import { figure } from "../measure/forecast.ts";
import type { Jobs } from "../jobs.ts";
import { llamaBenchJson } from "../measure/llamaBench.ts";
import { profileSentence } from "../measure/profileSentence.ts";
import { machineState, stateNotes } from "../measure/machineState.ts";
import type { Machine } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { phaseItem } from "./runHandlers.ts";
import { StringTable } from "../views/strings.ts";

export interface MeasureParts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly machine: Machine;
  readonly defaultThreads: number;
  /** Bytes per second that this machine reads, measured once and kept. */
  readonly peakBandwidth: (threads: number, signal: AbortSignal) => Promise<number>;
}

export function measureHandlers(parts: MeasureParts): Pick<EngineHandlers["streams"], "bench.run" | "profile.run"> {
  return {
    async *"bench.run"(input, { signal }) {
      const device = parts.devices.able(input.device, "measure", "bench").id;
      const started = performance.now();
      const model = parts.store.get(input.model);
      // Each test begins with an empty cache.
      requireRoom(model, "bench", Math.max(input.promptTokens, input.generateTokens));
      const job = parts.jobs.start("bench", model.description.title);
      try {
        yield phaseItem("prepare", "Preparing the model", started);
        const threads = input.threads ?? parts.defaultThreads;
        const needed = Math.max(input.promptTokens, input.generateTokens, 1) + 1;
        const lease = yield* leaseInPhases(parts.decoders, model, { device, context: needed, threads, signal });
        try {
          const before = await machineState(parts);
          const steps = progressStream<BenchSample, readonly Measured[]>((emit) =>
            runBench(lease.session, { ...input, signal, onSample: emit }),
          );
          let next = await steps.next();
          while (next.done !== true) {
            job.update(`${next.value.test} ${next.value.warmup ? "warm-up" : String(next.value.index + 1)}`, null);
            yield { kind: "sample", ...next.value };
            next = await steps.next();
          }
          const tests = next.value;
          const facts = lease.device.facts(lease.session.threads);
          const conditions = { before, after: await machineState(parts) };
          yield {
            kind: "done",
            device: input.device,
            truth: facts.truth,
            tests: tests.map(testView),
            machine: parts.machine.chip,
            threads: lease.session.threads,
            kernels: facts.kernels,
            conditions,
            notes: [...notes(tests, parts.machine), ...stateNotes(conditions)],
            json: llamaBenchJson({
              ...{ model, tests, machine: parts.machine.chip, mapped: facts.mapped },
              ...{ threads: lease.session.threads, chunk: lease.session.facts.chunk },
              backends: facts.backend,
              cacheType: lease.decoder.cacheType,
            }),
          };
        } finally {
          await lease.release();
        }
      } finally {
        job.end();
      }
    },
    async *"profile.run"(input, { signal }) {
      const device = parts.devices.able(input.device, "profile", "profile").id;
      const started = performance.now();
      const model = parts.store.get(input.model);
      const { promptTokens, generateTokens } = input;
      requireRoom(model, "profile", promptTokens + generateTokens);
      const job = parts.jobs.start("profile", model.description.title);
      try {
        yield phaseItem("prepare", "Preparing the model", started);
        const threads = input.threads ?? parts.defaultThreads;
        const context = promptTokens + generateTokens + 1;
        const lease = yield* leaseInPhases(parts.decoders, model, { device, context, threads, signal });
        try {
          const { decoder, session } = lease;
          const request = { promptTokens, generateTokens, signal };
          let work: (onProgress: (fraction: number) => void) => Promise<ProfileView>;
          if (decoder.profile === undefined) {
            yield phaseItem("peak", "Measuring how fast this machine reads memory", started);
            const place = {
              machine: parts.machine.chip,
              ...placeOf(lease.device, await parts.peakBandwidth(threads, signal), threads),
            };
            work = async (onProgress) =>
              profileView(await profileDecoder(decoder.steps, session, { ...request, onProgress }), place);
          } else {
            const { profile } = decoder;
            work = (onProgress) => profile(session, { ...request, onProgress });
          }
          const steps = progressStream<number, ProfileView>(work);
          let next = await steps.next();
          while (next.done !== true) {
            yield phaseItem("record", "Recording", started, next.value);
            next = await steps.next();
          }
          yield { kind: "done", profile: next.value };
        } finally {
          await lease.release();
        }
      } finally {
        job.end();
      }
    },
  };
}

/** Before anything is made ready: a measurement has as many tokens as were asked for, or is none. */
function requireRoom(model: OpenModel, what: string, tokens: number): void {
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

type Lane = ProfileView["lanes"][number];

/** What a profile was measured on. */
interface Place {
  readonly machine: string;
  readonly device: string;
  readonly peakBandwidth: number;
  readonly threads: number;
  readonly lane: Lane;
  /** What a reader must know; empty when there is nothing. */
  readonly note: string;
}

function placeOf(device: EngineDevice, peakBandwidth: number, threads: number): Omit<Place, "machine"> {
  const { lane, profileNote } = device.facts(threads);
  return { device: device.id, peakBandwidth, threads, lane, note: profileNote };
}

function testView(test: Measured): BenchTest {
  return {
    test: test.test,
    tokens: test.tokens,
    samples: [...test.rates],
    rate: figure(
      test.median,
      "tokens/s",
      "measured",
      `median of ${test.rates.length} runs, ${intervalName(test.rates.length)}${test.rates.length < LEAST_REPEATS ? "" : " by ranks"}`,
      { low: test.interval.low, high: test.interval.high },
    ),
    mean: test.mean,
    stddev: test.deviation,
  };
}

/** What makes these numbers hard to compare. */
function notes(tests: readonly Measured[], machine: Machine): string[] {
  const found: string[] = [];
  for (const test of tests) {
    if (test.rates.length < 3)
      found.push(
        `${test.test}: ${test.rates.length} ${test.rates.length === 1 ? "run says" : "runs say"} little; repeat at least ${LEAST_REPEATS} times.`,
      );
    else if (test.deviation / test.mean > 0.1)
      found.push(
        `${test.test}: the runs differ by ${Math.round((100 * test.deviation) / test.mean)} %; something else was using this machine.`,
      );
  }
  if (machine.freeBytes() < 1e9) found.push("Less than 1 GB of memory was free.");
  if (machine.threads < 2) found.push("Only one processor was available.");
  return found;
}

function rowView(row: ProfilePhase["rows"][number], peakBandwidth: number, { device }: Lane): ProfileRow {
  const reads = row.bytes > 0 && row.seconds > 0;
  return {
    op: row.op,
    device,
    count: row.count,
    seconds: row.seconds,
    share: row.share,
    bytes: row.bytes,
    bandwidth: reads ? row.bandwidth : null,
    peakShare: reads ? row.bandwidth / peakBandwidth : null,
  };
}

function profileView(
  report: ProfileReport,
  { machine, peakBandwidth, threads, device, lane, note }: Place,
): ProfileView {
  const strings = new StringTable();
  const { slices } = report;
  const ops = Uint32Array.from(report.titles, (title) => strings.add(title.op));
  const labels = Uint32Array.from(report.titles, (title) => strings.add(title.label));
  const count = slices.start.length;
  const nodeStart = new Uint32Array(count + 1);
  const nodes: number[] = [];
  for (let i = 0; i < count; i++) {
    nodeStart[i] = nodes.length;
    nodes.push(...(report.plan[slices.instruction[i] ?? 0]?.sources ?? []));
  }
  nodeStart[count] = nodes.length;
  const phase = (of: ProfilePhase): ProfileView["decode"] => ({
    seconds: figure(of.seconds, "seconds", "measured", of.basis),
    rows: of.rows.map((row) => rowView(row, peakBandwidth, lane)),
  });
  return {
    device,
    truth: "measured",
    machine,
    sentence: [profileSentence(report, peakBandwidth), ...(note === "" ? [] : [note])].join(" "),
    peakBandwidth: figure(peakBandwidth, "bytes/s", "measured", `a plain read loop on ${threads} threads, here`),
    strings: strings.strings,
    lanes: [lane],
    steps: {
      start: Float64Array.from(report.runs, (run) => run.start),
      seconds: Float32Array.from(report.runs, (run) => run.seconds),
      tokens: Uint32Array.from(report.runs, (run) => run.tokens),
      decode: Uint8Array.from(report.runs, (run) => (run.decode ? 1 : 0)),
    },
    slices: {
      start: slices.start,
      seconds: slices.seconds,
      lane: new Uint8Array(count),
      step: slices.run,
      op: slices.instruction.map((i) => ops[i] ?? 0),
      label: slices.instruction.map((i) => labels[i] ?? 0),
      bytes: slices.bytes,
      nodeStart,
      nodes: Uint32Array.from(nodes),
    },
    prefill: phase(report.prefill),
    decode: phase(report.decode),
  };
}
