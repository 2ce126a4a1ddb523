/** Benchmarks and profiles of real runs, on the CPU engine or on MLX; benchmarks on Core ML too. */
import { availableParallelism } from "node:os";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { CoremlAccess } from "../../node/devices/coreml/device.ts";
import { coremlLease, coremlTruth } from "../../node/devices/coreml/lease.ts";
import { profileCoreml } from "../../node/devices/coreml/profile.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import { LEAST_REPEATS, intervalName } from "../../contract/views/run.ts";
import type { BenchTest, ProfileItem, ProfileRow, ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireArchitecture } from "../../models/architecture.ts";
import type { BenchSample, BenchTest as Measured } from "../../runtime/bench.ts";
import { runBench } from "../../runtime/bench.ts";
import type { ProfilePhase, ProfileReport } from "../../runtime/profile.ts";
import { profileDecoder } from "../../runtime/profile.ts";
import type { Decoders } from "../models/decoders.ts";
import type { CpuAccess } from "../devices.ts";
import { requireDevice } from "../devices.ts";
import { during } from "../during.ts";
import { figure } from "../measure/forecast.ts";
import type { Jobs } from "../jobs.ts";
import { llamaBenchJson } from "../measure/llamaBench.ts";
import { chipTitle, freeBytes } from "../../node/machine/machineInfo.ts";
import { machineState, stateNotes } from "../../node/machine/machineState.ts";
import type { MlxAccess } from "../mlxAccess.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { phaseItem } from "./runHandlers.ts";
import { StringTable } from "../views/strings.ts";

export interface MeasureParts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly cpu: CpuAccess;
  readonly mlx: MlxAccess;
  readonly coreml: CoremlAccess;
  readonly initialTarget: TargetSpec;
  readonly jobs: Jobs;
  readonly defaultThreads: number;
  /** Bytes per second that this machine reads, measured once and kept. */
  readonly roof: (threads: number, signal: AbortSignal) => Promise<number>;
}

export function measureHandlers(parts: MeasureParts): Pick<EngineHandlers["streams"], "bench.run" | "profile.run"> {
  return {
    async *"bench.run"(input, { signal }) {
      const device = input.device === "coreml" ? "coreml" : measurable(input.device, "bench");
      const started = performance.now();
      const model = parts.store.get(input.model);
      // Each test begins with an empty cache.
      requireRoom(model, "bench", Math.max(input.promptTokens, input.generateTokens));
      const job = parts.jobs.start("bench", model.description.title);
      try {
        yield phaseItem("prepare", "Preparing the model", started);
        const threads = input.threads ?? parts.defaultThreads;
        const needed = Math.max(input.promptTokens, input.generateTokens, 1) + 1;
        const lease =
          device === "coreml"
            ? yield* coremlLease(parts, model, needed, signal)
            : await parts.decoders.lease(model, { device, context: needed, threads });
        try {
          const before = await machineState(parts);
          const steps = during<BenchSample, readonly Measured[]>((emit) =>
            runBench(lease.session, { ...input, signal, onSample: emit }),
          );
          let next = await steps.next();
          while (next.done !== true) {
            job.update(`${next.value.test} ${next.value.warmup ? "warm-up" : String(next.value.index + 1)}`, null);
            yield { kind: "sample", ...next.value };
            next = await steps.next();
          }
          const tests = next.value;
          const conditions = { before, after: await machineState(parts) };
          yield {
            kind: "done",
            device: input.device,
            truth: device === "coreml" ? coremlTruth(parts.coreml) : "measured",
            tests: tests.map(testView),
            machine: chipTitle(),
            threads: lease.session.threads,
            kernels: kernelsOf(parts, device),
            conditions,
            notes: [...notes(tests), ...stateNotes(conditions)],
            json: llamaBenchJson({
              ...{ model, tests, machine: chipTitle(), mapped: device === "cpu" },
              ...{ threads: lease.session.threads, chunk: lease.session.facts.chunk },
              backends: backendOf(parts, device),
              cacheType: "target" in lease ? (lease.target.profile === "exact" ? "f32" : "f16") : lease.cacheType,
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
      if (input.device === "coreml") return yield* profileOnCoreml(parts, input, signal);
      const device = measurable(input.device, "profile");
      const started = performance.now();
      const model = parts.store.get(input.model);
      requireRoom(model, "profile", input.promptTokens + input.generateTokens);
      const job = parts.jobs.start("profile", model.description.title);
      try {
        yield phaseItem("prepare", "Preparing the model", started);
        const threads = input.threads ?? parts.defaultThreads;
        const lease = await parts.decoders.lease(model, {
          device,
          context: input.promptTokens + input.generateTokens + 1,
          threads,
        });
        try {
          yield phaseItem("roof", "Measuring how fast this machine reads memory", started);
          const roof = await parts.roof(threads, signal);
          const steps = during<number, ProfileReport>((emit) =>
            profileDecoder(lease.decoder, lease.session, {
              promptTokens: input.promptTokens,
              generateTokens: input.generateTokens,
              signal,
              onProgress: (done, total) => emit(done / total),
            }),
          );
          let next = await steps.next();
          while (next.done !== true) {
            yield phaseItem("record", "Recording", started, next.value);
            next = await steps.next();
          }
          yield {
            kind: "done",
            profile: profileView(next.value, { roof, threads, device, lane: laneOf(parts, device, threads) }),
          };
        } finally {
          lease.release();
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
  requireArchitecture(model.requireFile(what));
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[${what}] got ${tokens} tokens, expected at most ${description.context}: the model knows no further positions`,
    { hint: "Measure fewer tokens." },
  );
}

/** Steps by the clock; operations by the cost weights of the system's plan. */
async function* profileOnCoreml(
  parts: MeasureParts,
  input: Parameters<EngineHandlers["streams"]["profile.run"]>[0],
  signal: AbortSignal,
): AsyncGenerator<ProfileItem, void> {
  const started = performance.now();
  const model = parts.store.get(input.model);
  const { promptTokens, generateTokens } = input;
  requireRoom(model, "profile", promptTokens + generateTokens);
  const job = parts.jobs.start("profile", model.description.title);
  try {
    yield phaseItem("prepare", "Preparing the model", started);
    const lease = yield* coremlLease(parts, model, promptTokens + generateTokens + 1, signal);
    try {
      const steps = during<number, ProfileView>((emit) =>
        profileCoreml(parts.coreml, model, lease, { promptTokens, generateTokens, signal, onProgress: emit }),
      );
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
}

function measurable(device: Parameters<typeof requireDevice>[0], what: string): "cpu" | "mlx" {
  requireDevice(device, what);
  if (device === "cpu" || device === "mlx") return device;
  throw new WorkbenchError("ENV_NO_DEVICE", `[${what}] a simulator's speed says nothing of the device it simulates`, {
    hint: "Measure on cpu or mlx.",
  });
}

function kernelsOf(parts: MeasureParts, device: "cpu" | "mlx" | "coreml"): string {
  if (device === "cpu") return parts.cpu.engine().isa;
  return device === "mlx" ? parts.mlx.title() : "Core ML";
}

/** As llama-bench would name it; what only a test double answered says so. */
function backendOf(parts: MeasureParts, device: "cpu" | "mlx" | "coreml"): string {
  if (device === "coreml") return coremlTruth(parts.coreml) === "measured" ? "Core ML" : "Core ML (simulated)";
  return device === "mlx" ? "MLX" : "CPU";
}

/** Where the instructions of a profile ran. */
function laneOf(parts: MeasureParts, device: "cpu" | "mlx", threads: number): Lane {
  if (device === "cpu") return { title: `CPU, ${threads} threads`, device: "cpu" };
  return { title: parts.mlx.title(), device: parts.mlx.engine().device };
}
type Lane = ProfileView["lanes"][number];

/** What a profile was measured on. */
interface Place {
  readonly roof: number;
  readonly threads: number;
  readonly device: "cpu" | "mlx";
  readonly lane: Lane;
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
function notes(tests: readonly Measured[]): string[] {
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
  if (freeBytes() < 1e9) found.push("Less than 1 GB of memory was free.");
  if (availableParallelism() < 2) found.push("Only one processor was available.");
  return found;
}

function rowView(row: ProfilePhase["rows"][number], roof: number, { device }: Lane): ProfileRow {
  const reads = row.bytes > 0 && row.seconds > 0;
  return {
    op: row.op,
    device,
    count: row.count,
    seconds: row.seconds,
    share: row.share,
    bytes: row.bytes,
    bandwidth: reads ? row.bandwidth : null,
    roofShare: reads ? row.bandwidth / roof : null,
  };
}

function profileView(report: ProfileReport, { roof, threads, device, lane }: Place): ProfileView {
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
    rows: of.rows.map((row) => rowView(row, roof, lane)),
  });
  return {
    device,
    truth: "measured",
    machine: chipTitle(),
    sentence: `${profileSentence(report.decode, roof)}${device === "mlx" ? " MLX evaluated each call on its own to time it: a plain run joins them and is faster." : ""}`,
    roof: figure(roof, "bytes/s", "measured", `a plain read loop on ${threads} threads, here`),
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

/** Of the typical token that the table shows. */
export function profileSentence({ rows, seconds }: ProfilePhase, roof: number): string {
  const [top] = rows;
  if (top === undefined || seconds <= 0) return "Nothing was recorded.";
  const share = rows.reduce((sum, { bytes }) => sum + bytes, 0) / seconds / roof;
  const reads =
    share > 1
      ? "reads its weights from the processor\u2019s cache, faster than memory gives them"
      : `reads memory at ${Math.round(share * 100)} % of what this machine can`;
  return `A typical token spends ${Math.round(top.share * 100)} % of its time in ${top.op}, and ${reads}.`;
}
