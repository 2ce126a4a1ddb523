/** Recordings for tests, made from a seed: steps, instructions with holes between them, threads, memory; as an engine would tell. */
import type { Columns } from "../contract/recordings/complete.ts";
import type { ProfileView } from "../contract/views/run.ts";
import { completeProfile } from "../contract/recordings/complete.ts";
import { seededRandom } from "./random.ts";

const OPS = ["linear", "attention", "rms_norm", "add", "rope", "gather"];

export interface MadeRecording {
  readonly seed: number;
  /** Without: between 1 and 12. */
  readonly tokens?: number;
  readonly attributed?: boolean;
  /** Each op takes so many times as long. */
  readonly slower?: Readonly<Record<string, number>>;
}

export function madeRecording({ seed, tokens, attributed = false, slower = {} }: MadeRecording): ProfileView {
  const { next: random } = seededRandom(seed);
  const within = (low: number, high: number): number => low + random() * (high - low);
  const lanes: Columns["lanes"] = attributed
    ? [
        { title: "Neural Engine, attributed", device: "ane", truth: "attributed" },
        { title: "CPU, attributed", device: "cpu", truth: "attributed" },
        { title: "Copies in and out, clocked", device: "host", truth: "measured" },
      ]
    : [{ title: "CPU, 2 threads", device: "cpu", truth: "measured" }];
  const threads = attributed ? 0 : 2;
  const blocks = 1 + Math.floor(within(0, 3));
  const strings = ["", ...OPS, "copies", ...Array.from({ length: blocks }, (_, i) => `blk.${i}/attention`)];
  const written = tokens ?? 1 + Math.floor(within(0, 12));
  const steps = { start: [] as number[], seconds: [] as number[], tokens: [] as number[], decode: [] as number[] };
  const columns = ["start", "seconds", "lane", "step", "op", "label", "bytes"] as const;
  const slices = Object.fromEntries(columns.map((name) => [name, [] as number[]])) as Record<
    (typeof columns)[number],
    number[]
  >;
  let now = within(0, 0.01);
  for (let step = 0; step <= written; step++) {
    const decode = step > 0;
    const began = now;
    now += within(0, 1e-4);
    for (let block = 0; block < blocks; block++)
      for (const [i, op] of OPS.entries()) {
        const isCopy = attributed && i === OPS.length - 1;
        const length = within(1e-6, 1e-3) * (decode ? 1 : 8) * (slower[op] ?? 1);
        slices.start.push(now);
        slices.seconds.push(length);
        slices.lane.push(isCopy ? 2 : attributed ? i % 2 : 0);
        slices.step.push(step);
        slices.op.push(strings.indexOf(isCopy ? "copies" : op));
        slices.label.push(strings.indexOf(`blk.${block}/attention`));
        slices.bytes.push(isCopy ? 0 : Math.floor(within(0, 4e6)));
        now += length + (random() < 0.2 ? within(0, 1e-4) : 0);
      }
    now += within(0, 2e-3);
    steps.start.push(began);
    steps.seconds.push(now - began);
    steps.tokens.push(decode ? 1 : 16);
    steps.decode.push(decode ? 1 : 0);
    now += within(0, 4e-3) * (random() < 0.1 ? 20 : 1);
  }
  const count = slices.start.length;
  const busy = Array.from({ length: threads }, () => slices.seconds.map((length) => length * within(0.2, 1))).flat();
  return completeProfile({
    ...{ model: "Made", recordedAt: 1_700_000_000_000 + seed * 1000, device: "cpu", machine: "A machine", note: "" },
    truth: attributed ? "attributed" : "measured",
    peakBandwidth: attributed
      ? null
      : { value: 1e10, low: null, high: null, unit: "bytes/s", truth: "measured", basis: "made" },
    ...{ strings, lanes, absent: [{ what: "GPU", why: "there is none" }] },
    steps: {
      start: Float64Array.from(steps.start),
      seconds: Float32Array.from(steps.seconds),
      tokens: Uint32Array.from(steps.tokens),
      decode: Uint8Array.from(steps.decode),
    },
    slices: {
      start: Float64Array.from(slices.start),
      seconds: Float32Array.from(slices.seconds),
      lane: Uint8Array.from(slices.lane),
      step: Uint32Array.from(slices.step),
      op: Uint32Array.from(slices.op),
      label: Uint32Array.from(slices.label),
      bytes: Float64Array.from(slices.bytes),
      nodeStart: Uint32Array.from({ length: count + 1 }, (_, i) => i),
      nodes: Uint32Array.from({ length: count }, (_, i) => i % (blocks * OPS.length)),
    },
    threads: { count: threads, busy: Float32Array.from(busy) },
    memory: {
      time: Float64Array.from(steps.start),
      resident: Float64Array.from(steps.start, (_, i) => 1e8 + i * 1e6),
      states: Float64Array.from(steps.start, (_, i) => i * 1e4),
    },
  });
}
