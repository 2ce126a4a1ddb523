/**
 * The predicted compute plan of a function for a target: per operator which devices can run it, which one will, what share
 * of the work it is, and why. Stands in for MLComputePlan where there is no CoreML; always labelled predicted.
 */
import type { MilFunction } from "../mil/types.ts";
import { elementCount, packedByteLength } from "../mil/types.ts";
import type { FunctionFacts, OpFacts } from "./facts.ts";
import { functionFacts } from "./facts.ts";
import type { PlacedDevice, PlacementProblem } from "./placement.ts";
import { DEVICES, place } from "./placement.ts";
import type { Finding } from "./rules.ts";
import { findingsFor, paddingFactor } from "./rules.ts";
import type { PlanTarget, Units } from "./target.ts";
import { chipOf } from "./target.ts";

/**
 * Anchors that a reading of CoreML's own cost functions gave (ane-guide): GFLOP/s and GB/s. Only their order matters, and it
 * is this order that CoreML places by; they are not the speed of any chip.
 */
const RATES: { readonly [D in PlacedDevice]: { readonly gflops: number; readonly gbytes: number } } = {
  ane: { gflops: 800, gbytes: 50 },
  gpu: { gflops: 120, gbytes: 40 },
  cpu: { gflops: 20, gbytes: 10 },
};
/** Milliseconds per run of operators on a device. The Neural Engine's is the chip's dispatch floor. */
const LAUNCH = { gpu: 0.1, cpu: 0.1 } as const;
/** Milliseconds for moving values onto a device, beside their bytes. */
const TRANSFER = { ane: 0.09, gpu: 0.23, cpu: 0.23 } as const;
const TRANSFER_BYTES_PER_MS = 10e6;

const ALLOWED: { readonly [U in Units]: readonly PlacedDevice[] } = {
  "cpu-ane": ["ane", "cpu"],
  "cpu-gpu": ["gpu", "cpu"],
  all: ["ane", "gpu", "cpu"],
  cpu: ["cpu"],
};

export interface OpPlan {
  /** Index in the function's operations. */
  readonly index: number;
  readonly supported: readonly PlacedDevice[];
  readonly preferred: PlacedDevice;
  /** Share of the function's work on its devices, 0..1. */
  readonly costShare: number;
  readonly costMs: number;
  /** Why not the Neural Engine, and what is dear there. */
  readonly findings: readonly Finding[];
  /** The rule that decided, and its sentence. */
  readonly rule: string;
  readonly reason: string;
}

export interface CrossingValue {
  readonly name: string;
  readonly bytes: number;
}

/** Consecutive operators on one device. */
export interface PlanRun {
  readonly device: PlacedDevice;
  /** Positions in `ops`, both included. */
  readonly first: number;
  readonly last: number;
  /** Values that cross into it from other runs, and that others take from it. */
  readonly inputs: readonly CrossingValue[];
  readonly outputs: readonly CrossingValue[];
  /** Why the program changes device here. */
  readonly why: string;
}

export interface FunctionPlan {
  readonly label: "predicted";
  readonly target: PlanTarget;
  readonly ops: readonly OpPlan[];
  readonly runs: readonly PlanRun[];
  /** Placement cost in the model's own milliseconds: for comparing, not for promising. */
  readonly costMs: number;
}

export function predictPlan(f: MilFunction, target: PlanTarget): FunctionPlan {
  const facts = functionFacts(f);
  const findings = facts.ops.map((op) => findingsFor(op, target, facts));
  const allowed = ALLOWED[target.units];
  const costs = facts.ops.map((op, i) => costsOf(op, findings[i] ?? [], allowed));
  const problem: PlacementProblem = {
    costs,
    cutBytes: cutBytes(facts),
    launch: [chipOf(target.chip).dispatchFloorMs, LAUNCH.gpu, LAUNCH.cpu],
    transfer: DEVICES.map((d) => TRANSFER[d]),
    bytesPerMs: TRANSFER_BYTES_PER_MS,
  };
  const { devices, cost } = place(problem);
  const total = facts.ops.reduce((sum, _op, i) => sum + (costs[i]?.[devices[i] ?? 2] ?? 0), 0);
  const ops = facts.ops.map((op, i): OpPlan => {
    const preferred = DEVICES[devices[i] ?? 2] ?? "cpu";
    const own = costs[i]?.[devices[i] ?? 2] ?? 0;
    const supported = DEVICES.filter((_, d) => Number.isFinite(costs[i]?.[d] ?? Infinity));
    const found = findings[i] ?? [];
    return { index: op.index, supported, preferred, costShare: total === 0 ? 0 : own / total, costMs: own, findings: found, ...decision(op, preferred, supported, found, target) };
  });
  return { label: "predicted", target, ops, runs: runsOf(facts, ops), costMs: cost };
}

/** max(arithmetic, memory) per device; weights count as they are streamed: packed on GPU and CPU, fp16 on the Neural Engine. */
function costsOf(op: OpFacts, findings: readonly Finding[], allowed: readonly PlacedDevice[]): Float64Array {
  const ineligible = findings.some((f) => f.verdict === "hard");
  return Float64Array.from(DEVICES, (device) => {
    if (!allowed.includes(device) || (device === "ane" && ineligible)) return Infinity;
    if (op.free) return 0;
    const { gflops, gbytes } = RATES[device];
    const moved = device === "ane" ? op.activationBytes * paddingFactor(op) + op.denseWeightBytes : op.activationBytes + op.storedWeightBytes;
    return Math.max(op.flops / (gflops * 1e6), moved / (gbytes * 1e6));
  });
}

/** For each operator, the bytes of values made before it and used by it or later. */
function cutBytes(facts: FunctionFacts): Float64Array {
  const born = new Map<string, number>();
  const size = new Map<string, number>();
  const last = new Map<string, number>();
  facts.ops.forEach((op, i) => {
    for (const [, bindings] of op.op.inputs) for (const b of bindings) if (b.kind === "name" && born.has(b.name)) last.set(b.name, i);
    for (const o of op.op.outputs) {
      born.set(o.name, i);
      const count = elementCount(o.type.shape);
      size.set(o.name, Number.isNaN(count) ? 0 : packedByteLength(o.type.dtype, count));
    }
  });
  const delta = new Float64Array(facts.ops.length + 1);
  for (const [name, end] of last) {
    const bytes = size.get(name) ?? 0;
    const start = (born.get(name) ?? 0) + 1;
    delta[start] = (delta[start] ?? 0) + bytes;
    delta[end + 1] = (delta[end + 1] ?? 0) - bytes;
  }
  const out = new Float64Array(facts.ops.length);
  let live = 0;
  for (let i = 0; i < out.length; i++) {
    live += delta[i] ?? 0;
    out[i] = live;
  }
  return out;
}

function decision(op: OpFacts, preferred: PlacedDevice, supported: readonly PlacedDevice[], findings: readonly Finding[], target: PlanTarget): { readonly rule: string; readonly reason: string } {
  const blocked = findings.find((f) => f.verdict === "hard");
  if (preferred === "ane") {
    const dear = findings.find((f) => f.verdict === "soft");
    return { rule: "ane-eligible", reason: `Nothing keeps ${op.type} off the Neural Engine.${dear === undefined ? "" : ` ${dear.reason}`}` };
  }
  if (target.units === "cpu") return { rule: "units", reason: "The target allows the CPU only." };
  if (blocked !== undefined && target.units !== "cpu-gpu") return { rule: blocked.rule, reason: blocked.reason };
  if (op.free) return { rule: "free", reason: "It only relabels memory and stays with its neighbours." };
  if (supported.includes("ane")) return { rule: "island", reason: "The Neural Engine could run it, but going there and back would take longer than it saves." };
  if (supported.length === 1) return { rule: "units", reason: `The target leaves ${preferred === "gpu" ? "the GPU" : "the CPU"} only.` };
  return preferred === "gpu"
    ? { rule: "gpu-faster", reason: "The GPU is the quickest unit that the target allows." }
    : { rule: "island", reason: "The GPU could run it, but going there and back would take longer than it saves." };
}

const NAMES: { readonly [D in PlacedDevice]: string } = { ane: "Neural Engine", gpu: "GPU", cpu: "CPU" };

function runsOf(facts: FunctionFacts, ops: readonly OpPlan[]): readonly PlanRun[] {
  const bounds: { device: PlacedDevice; first: number; last: number }[] = [];
  ops.forEach((op, i) => {
    const open = bounds.at(-1);
    if (open?.device === op.preferred) open.last = i;
    else bounds.push({ device: op.preferred, first: i, last: i });
  });
  const runOf = new Int32Array(ops.length);
  bounds.forEach((b, r) => runOf.fill(r, b.first, b.last + 1));
  const producer = new Map<string, { run: number; bytes: number }>();
  const inputs = bounds.map(() => new Map<string, number>());
  const outputs = bounds.map(() => new Map<string, number>());
  facts.ops.forEach((op, i) => {
    const run = runOf[i] ?? 0;
    for (const [, bindings] of op.op.inputs)
      for (const b of bindings) {
        const made = b.kind === "name" ? producer.get(b.name) : undefined;
        if (b.kind !== "name" || made === undefined || made.run === run) continue;
        inputs[run]?.set(b.name, made.bytes);
        outputs[made.run]?.set(b.name, made.bytes);
      }
    for (const o of op.op.outputs) {
      const count = elementCount(o.type.shape);
      producer.set(o.name, { run, bytes: Number.isNaN(count) ? 0 : packedByteLength(o.type.dtype, count) });
    }
  });
  const list = (values: ReadonlyMap<string, number> | undefined): readonly CrossingValue[] => [...(values ?? [])].map(([name, bytes]) => ({ name, bytes }));
  return bounds.map((b, r): PlanRun => {
    const cause = ops.slice(b.first, b.last + 1).find((op) => op.rule !== "free") ?? ops[b.first];
    const before = bounds[r - 1];
    const why = before === undefined ? "The program begins here." : `${NAMES[before.device]} → ${NAMES[b.device]}: ${cause?.reason ?? ""}`;
    return { ...b, inputs: list(inputs[r]), outputs: list(outputs[r]), why };
  });
}
