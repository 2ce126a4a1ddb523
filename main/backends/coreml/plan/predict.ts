/**
 * The predicted compute plan of a function for a target: per operator which devices can run it, which one will, what share
 * of the work it is, and why. Stands in for MLComputePlan where there is no CoreML; always labelled predicted.
 */
import type { MilFunction } from "../mil/types.ts";
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
  const costs = costsOf(facts, findings, ALLOWED[target.units]);
  const problem: PlacementProblem = {
    count: facts.ops.length,
    costs,
    cutBytes: cutBytes(facts),
    launch: [chipOf(target.chip).dispatchFloorMs, LAUNCH.gpu, LAUNCH.cpu],
    transfer: DEVICES.map((d) => TRANSFER[d]),
    bytesPerMs: TRANSFER_BYTES_PER_MS,
  };
  const { devices, cost } = place(problem);
  const width = DEVICES.length;
  let total = 0;
  for (let i = 0; i < devices.length; i++) total += costs[i * width + (devices[i] as number)] as number;
  const ops = facts.ops.map((op, i): OpPlan => {
    const preferred = DEVICES[devices[i] as number] ?? "cpu";
    const own = costs[i * width + (devices[i] as number)] as number;
    const supported = supportedSets[supportMask(costs, i)] ?? [];
    const found = findings[i] ?? NO_FINDINGS;
    return {
      index: op.index,
      supported,
      preferred,
      costShare: total === 0 ? 0 : own / total,
      costMs: own,
      findings: found,
      ...decision(op, preferred, supported, found, target),
    };
  });
  return { label: "predicted", target, ops, runs: runsOf(facts, ops), costMs: cost };
}

const NO_FINDINGS: readonly Finding[] = [];

/** The eight possible sets of devices, by bit mask. */
const supportedSets: readonly (readonly PlacedDevice[])[] = Array.from({ length: 1 << DEVICES.length }, (_, mask) =>
  DEVICES.filter((_d, i) => ((mask >> i) & 1) === 1),
);

function supportMask(costs: Float64Array, i: number): number {
  let mask = 0;
  for (let d = 0; d < DEVICES.length; d++) if ((costs[i * DEVICES.length + d] as number) !== Infinity) mask |= 1 << d;
  return mask;
}

/** max(arithmetic, memory) per device; weights count as they are streamed: packed on GPU and CPU, fp16 on the Neural Engine. */
function costsOf(
  facts: FunctionFacts,
  findings: readonly (readonly Finding[])[],
  allowed: readonly PlacedDevice[],
): Float64Array {
  const costs = new Float64Array(facts.ops.length * DEVICES.length).fill(Infinity);
  facts.ops.forEach((op, i) => {
    const ineligible = (findings[i] ?? NO_FINDINGS).some((f) => f.verdict === "hard");
    DEVICES.forEach((device, d) => {
      if (!allowed.includes(device) || (device === "ane" && ineligible)) return;
      const { gflops, gbytes } = RATES[device];
      const moved =
        device === "ane"
          ? op.activationBytes * paddingFactor(op) + op.denseWeightBytes
          : op.activationBytes + op.storedWeightBytes;
      costs[i * DEVICES.length + d] = op.free ? 0 : Math.max(op.flops / (gflops * 1e6), moved / (gbytes * 1e6));
    });
  });
  return costs;
}

/** For each operator, the bytes of values made before it and used by it or later. */
function cutBytes(facts: FunctionFacts): Float64Array {
  const delta = new Float64Array(facts.ops.length + 2);
  for (const op of facts.ops)
    for (const { madeBy, lastUse, bytes } of op.results) {
      if (lastUse < 0) continue;
      delta[madeBy + 1] = (delta[madeBy + 1] as number) + bytes;
      delta[lastUse + 1] = (delta[lastUse + 1] as number) - bytes;
    }
  const out = new Float64Array(facts.ops.length);
  let live = 0;
  for (let i = 0; i < out.length; i++) {
    live += delta[i] as number;
    out[i] = live;
  }
  return out;
}

function decision(
  op: OpFacts,
  preferred: PlacedDevice,
  supported: readonly PlacedDevice[],
  findings: readonly Finding[],
  target: PlanTarget,
): { readonly rule: string; readonly reason: string } {
  const blocked = findings.find((f) => f.verdict === "hard");
  if (preferred === "ane") {
    const dear = findings.find((f) => f.verdict === "soft");
    return {
      rule: "ane-eligible",
      reason: `Nothing keeps ${op.type} off the Neural Engine.${dear === undefined ? "" : ` ${dear.reason}`}`,
    };
  }
  if (target.units === "cpu") return { rule: "units", reason: "The target allows the CPU only." };
  if (blocked !== undefined && target.units !== "cpu-gpu") return { rule: blocked.rule, reason: blocked.reason };
  if (op.free) return { rule: "free", reason: "It only relabels memory and stays with its neighbours." };
  if (supported.includes("ane"))
    return {
      rule: "island",
      reason: "The Neural Engine could run it, but going there and back would take longer than it saves.",
    };
  if (supported.length === 1)
    return { rule: "units", reason: `The target leaves ${preferred === "gpu" ? "the GPU" : "the CPU"} only.` };
  return preferred === "gpu"
    ? { rule: "gpu-faster", reason: "The GPU is the quickest unit that the target allows." }
    : { rule: "island", reason: "The GPU could run it, but going there and back would take longer than it saves." };
}

/** Why a run is where it is: what drove it off the Neural Engine, or what makes the way to its device worth it. */
function causeOf(
  ops: readonly OpPlan[],
  run: { readonly device: PlacedDevice; readonly first: number; readonly last: number },
): string {
  if (run.device !== "cpu") return `${run.last - run.first + 1} operators follow that it runs more quickly.`;
  for (let i = run.first; i <= run.last; i++) {
    const op = ops[i];
    if (op !== undefined && op.rule !== "free") return op.reason;
  }
  return ops[run.first]?.reason ?? "";
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
  const inputs = bounds.map(() => new Map<string, number>());
  const outputs = bounds.map(() => new Map<string, number>());
  facts.ops.forEach((op, i) => {
    const run = runOf[i] ?? 0;
    for (const { name, madeBy, bytes } of op.operands) {
      const from = madeBy < 0 ? run : (runOf[madeBy] ?? run);
      if (from === run) continue;
      inputs[run]?.set(name, bytes);
      outputs[from]?.set(name, bytes);
    }
  });
  const list = (values: ReadonlyMap<string, number> | undefined): readonly CrossingValue[] =>
    [...(values ?? [])].map(([name, bytes]) => ({ name, bytes }));
  return bounds.map((b, r): PlanRun => {
    const before = bounds[r - 1];
    const why =
      before === undefined
        ? "The program begins here."
        : `${NAMES[before.device]} → ${NAMES[b.device]}: ${causeOf(ops, b)}`;
    return { ...b, inputs: list(inputs[r]), outputs: list(outputs[r]), why };
  });
}
