/** A recording of the runtime as columns of the contract, with what it cannot tell and why. */
import type { ProfileReport } from "../../runtime/profile.ts";
import type { ProfileView } from "../../contract/views/run.ts";
import type { Columns } from "../../contract/recordings/complete.ts";
import { StringTable } from "../views/strings.ts";
import { figure } from "./forecast.ts";

/** What a profile was measured on. */
export interface Place {
  readonly model: string;
  readonly machine: string;
  readonly device: string;
  readonly peakBandwidth: number;
  readonly threads: number;
  readonly lane: Pick<ProfileView["lanes"][number], "title" | "device">;
  /** What a reader must know; empty when there is nothing. */
  readonly note: string;
}

export function profileColumns(report: ProfileReport, place: Place): Columns {
  const strings = new StringTable();
  const { slices, plan, titles } = report;
  const ops = Uint32Array.from(titles, (title) => strings.add(title.op));
  const labels = Uint32Array.from(titles, (title) => strings.add(title.label));
  const count = slices.start.length;
  const nodeStart = new Uint32Array(count + 1);
  const nodes: number[] = [];
  for (let i = 0; i < count; i++) {
    nodeStart[i] = nodes.length;
    nodes.push(...(plan[slices.instruction[i] ?? 0]?.sources ?? []));
  }
  nodeStart[count] = nodes.length;
  const { model, device, machine, note, lane, peakBandwidth, threads } = place;
  return {
    ...{ model, device, machine, note, truth: "measured", recordedAt: Date.now() },
    peakBandwidth: figure(peakBandwidth, "bytes/s", "measured", `a plain read loop on ${threads} threads, here`),
    strings: strings.strings,
    lanes: [{ ...lane, truth: "measured" }],
    absent: absentLanes([lane.device], report.threads.count, report.memory.time.length),
    steps: stepColumns(report.runs),
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
    threads: report.threads,
    memory: report.memory,
  };
}

export const stepColumns = (runs: ProfileReport["runs"]): ProfileView["steps"] => ({
  start: Float64Array.from(runs, (run) => run.start),
  seconds: Float32Array.from(runs, (run) => run.seconds),
  tokens: Uint32Array.from(runs, (run) => run.tokens),
  decode: Uint8Array.from(runs, (run) => (run.decode ? 1 : 0)),
});

/** Lanes that such a recording cannot have, by what it has. */
export function absentLanes(devices: readonly string[], threads: number, looks: number): ProfileView["absent"] {
  const has = (device: string): boolean => devices.includes(device);
  const coreml = has("ane") || has("none");
  const absent: { readonly what: string; readonly why: string }[] = [];
  if (threads === 0)
    absent.push({
      what: "CPU threads",
      why: has("cpu") && !coreml ? "this engine does not clock each of them" : "nothing of ours runs on them",
    });
  if (!has("gpu"))
    absent.push({ what: "GPU", why: coreml ? "its plan has nothing there" : "this device does not use it" });
  if (!has("ane"))
    absent.push({
      what: "Neural Engine",
      why: coreml ? "its plan has nothing there, or tells no costs" : "only Core ML reaches it",
    });
  if (looks === 0) absent.push({ what: "memory", why: "nobody looked at it" });
  return absent;
}
