/** Benchmarks and profiles of real runs, on every device whose times say something. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import type { ProfileRow, ProfileView } from "../../contract/views/run.ts";
import type { ProfilePhase, ProfileReport } from "../../runtime/profile.ts";
import { profileDecoder } from "../../runtime/profile.ts";
import { leaseInPhases } from "../models/decoders.ts";
import type { EngineDevice } from "../devices.ts";
import { settledStream } from "../progressStream.ts";
import { figure } from "../measure/forecast.ts";
import type { Jobs } from "../jobs.ts";
import type { BenchParts } from "../measure/benchRun.ts";
import { benchRun, requireRoom } from "../measure/benchRun.ts";
import { profileSentence } from "../measure/profileSentence.ts";
import { phaseItem } from "./runHandlers.ts";
import { StringTable } from "../views/strings.ts";

export interface MeasureParts extends BenchParts {
  readonly jobs: Jobs;
  /** Bytes per second that this machine reads, measured once and kept. */
  readonly peakBandwidth: (threads: number, signal: AbortSignal) => Promise<number>;
}

export function measureHandlers(parts: MeasureParts): Pick<EngineHandlers["streams"], "bench.run" | "profile.run"> {
  return {
    async *"bench.run"(input, { signal }) {
      const started = performance.now();
      const { title } = parts.store.get(input.model).description;
      const phase = (name: string, sentence: string): PhaseItem => phaseItem(name, sentence, started);
      const job = parts.jobs.start("bench", title, input.model);
      try {
        yield yield* benchRun(parts, input, { job, signal, phase });
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
      const job = parts.jobs.start("profile", model.description.title, model.id);
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
          const profile = yield* settledStream<PhaseItem, ProfileView>((emit) =>
            work((fraction) => emit(phaseItem("record", "Recording", started, fraction))),
          );
          yield { kind: "done", profile };
        } finally {
          await lease.release();
        }
      } finally {
        job.end();
      }
    },
  };
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
