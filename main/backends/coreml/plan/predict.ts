/**
 * The predicted compute plan of a function for a target: per operator which devices can run it, which one will, what share
 * of the work it is, and why. Stands in for MLComputePlan where there is no Core ML; always labelled predicted.
 */
import { invariant } from "../../../diagnostics/errors.ts";
import { finish } from "../../../ir/steps.ts";
import type { MilFunction } from "../mil/types.ts";
import type { FactsOptions, FunctionFacts, OpFacts } from "./facts.ts";
import { functionFacts } from "./facts.ts";
import type { PlacedDevice, PlacementProblem } from "./placement.ts";
import { DEVICE_NAMES, DEVICES, place } from "./placement.ts";
import type { Finding, RuleId } from "./rules.ts";
import { findingsFor, paddingFactor } from "./rules.ts";
import type { PlanTarget, Units } from "./target.ts";
import { chipOf } from "./target.ts";

/**
 * Anchors that a reading of Core ML's own cost functions gave (ane-guide): GFLOP/s and GB/s. Only their order matters, and it
 * is this order that Core ML places by; they are not the speed of any chip.
 */
const RATES: { readonly [D in PlacedDevice]: { readonly gflops: number; readonly gbytes: number } } = {
  ane: { gflops: 800, gbytes: 50 },
  gpu: { gflops: 120, gbytes: 40 },
  cpu: { gflops: 20, gbytes: 10 },
};
/** Milliseconds per run of operators on a device. */
const LAUNCH = { gpu: 0.1, cpu: 0.1 } as const;
/** The Neural Engine's is the chip's dispatch floor. */
export const launchMs = (device: PlacedDevice, target: Pick<PlanTarget, "chip">): number =>
  device === "ane" ? chipOf(target.chip).dispatchFloorMs : LAUNCH[device];
/** Milliseconds for moving values onto a device, beside their bytes. */
export const TRANSFER = { ane: 0.09, gpu: 0.23, cpu: 0.23 } as const satisfies Readonly<Record<PlacedDevice, number>>;
export const TRANSFER_BYTES_PER_MS = 10e6;

const ALLOWED: { readonly [U in Units]: readonly PlacedDevice[] } = {
  "cpu-ane": ["ane", "cpu"],
  "cpu-gpu": ["gpu", "cpu"],
  all: ["ane", "gpu", "cpu"],
  cpu: ["cpu"],
};

/** Operators of one kind on one device share it. */
export interface OpPlan {
  readonly supported: readonly PlacedDevice[];
  readonly preferred: PlacedDevice;
  /** Share of the function's work on its devices, 0..1. */
  readonly costShare: number;
  readonly costMs: number;
  /** Why not the Neural Engine, and what is dear there. */
  readonly findings: readonly Finding[];
  /** The rule that decided, and its sentence. */
  readonly rule: RuleId;
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
  /** In order, constants left out; and for each its index in the function's operations. */
  readonly ops: readonly OpPlan[];
  readonly operations: Uint32Array;
  /** The different ones of `ops`, and for each of `ops` which it is. */
  readonly distinct: readonly OpPlan[];
  readonly which: Uint32Array;
  readonly runs: readonly PlanRun[];
  /** Placement cost in the model's own milliseconds: for comparing, not for promising. */
  readonly costMs: number;
}

export function predictPlan(f: MilFunction, target: PlanTarget, options: FactsOptions = {}): FunctionPlan {
  return planOf(finish(functionFacts(f, options)), target);
}

/** The plan for one target. What does not depend on it is in the facts: another chip costs this walk only. */
export function planOf(facts: FunctionFacts, target: PlanTarget): FunctionPlan {
  const { kindOf } = facts;
  const width = DEVICES.length;
  const findings = findingsOf(facts, target);
  const costs = costsOf(facts, findings, ALLOWED[target.units]);
  const problem = problemOf(facts, costs, target);
  const { devices, cost } = place(problem);
  let total = 0;
  for (let i = 0; i < devices.length; i++) total += problem.costs[i * width + (devices[i] as number)] as number;
  const distinct: OpPlan[] = [];
  const which = new Uint32Array(devices.length);
  /** By kind and device, 1 + the place in `distinct`. */
  const places = new Uint32Array(facts.kinds.length * width);
  const ops = new Array<OpPlan>(devices.length);
  for (let i = 0; i < devices.length; i++) {
    const kind = kindOf[i] as number;
    const device = devices[i] as number;
    const at = kind * width + device;
    if (places[at] === 0) places[at] = distinct.push(opPlan(facts, findings, costs, target, kind, device, total));
    which[i] = (places[at] as number) - 1;
    ops[i] = distinct[which[i] as number] as OpPlan;
  }
  return {
    label: "predicted",
    target,
    ops,
    operations: facts.operations,
    distinct,
    which,
    runs: runsOf(facts, ops, devices),
    costMs: cost,
  };
}

const findingsOf = (facts: FunctionFacts, target: PlanTarget): readonly (readonly Finding[])[] =>
  facts.kinds.map((kind) => findingsFor(kind, target, facts));

/** What `place` has to solve for a function and a target. */
export const placementProblem = (facts: FunctionFacts, target: PlanTarget): PlacementProblem =>
  problemOf(facts, costsOf(facts, findingsOf(facts, target), ALLOWED[target.units]), target);

/** From the costs of the kinds to those of the operators. */
function problemOf(facts: FunctionFacts, costs: Float64Array, target: PlanTarget): PlacementProblem {
  const { kindOf } = facts;
  const width = DEVICES.length;
  const spread = new Float64Array(kindOf.length * width);
  for (let i = 0; i < kindOf.length; i++)
    for (let d = 0; d < width; d++) spread[i * width + d] = costs[(kindOf[i] as number) * width + d] as number;
  return {
    count: kindOf.length,
    costs: spread,
    cutBytes: cutBytes(facts),
    launch: DEVICES.map((d) => launchMs(d, target)),
    transfer: DEVICES.map((d) => TRANSFER[d]),
    bytesPerMs: TRANSFER_BYTES_PER_MS,
  };
}

function opPlan(
  facts: FunctionFacts,
  findings: readonly (readonly Finding[])[],
  costs: Float64Array,
  target: PlanTarget,
  kind: number,
  device: number,
  total: number,
): OpPlan {
  const op = facts.kinds[kind];
  invariant(op, `no kind ${kind}`);
  const preferred = DEVICES[device] ?? "cpu";
  const own = costs[kind * DEVICES.length + device] as number;
  const supported = supportedSets[supportMask(costs, kind)] ?? [];
  const found = findings[kind] ?? NO_FINDINGS;
  return {
    supported,
    preferred,
    costShare: total === 0 ? 0 : own / total,
    costMs: own,
    findings: found,
    ...decision(op, preferred, supported, found, target),
  };
}

const NO_FINDINGS: readonly Finding[] = [];

/** The eight possible sets of devices, by bit mask. */
const supportedSets: readonly (readonly PlacedDevice[])[] = Array.from({ length: 1 << DEVICES.length }, (_, mask) =>
  DEVICES.filter((_d, i) => ((mask >> i) & 1) === 1),
);

function supportMask(costs: Float64Array, kind: number): number {
  let mask = 0;
  for (let d = 0; d < DEVICES.length; d++)
    if ((costs[kind * DEVICES.length + d] as number) !== Infinity) mask |= 1 << d;
  return mask;
}

/** Bytes that an operator moves on a device. Weights count as it streams them. */
export const movedOn = (op: OpFacts, device: PlacedDevice): { readonly weights: number; readonly values: number } =>
  device === "ane"
    ? { weights: op.aneWeightBytes, values: op.activationBytes * paddingFactor(op) }
    : { weights: op.otherWeightBytes, values: op.activationBytes };

/** Per kind, max(arithmetic, memory) per device. */
function costsOf(
  facts: FunctionFacts,
  findings: readonly (readonly Finding[])[],
  allowed: readonly PlacedDevice[],
): Float64Array {
  const costs = new Float64Array(facts.kinds.length * DEVICES.length).fill(Infinity);
  facts.kinds.forEach((op, i) => {
    const ineligible = (findings[i] ?? NO_FINDINGS).some((f) => f.verdict === "hard");
    DEVICES.forEach((device, d) => {
      if (!allowed.includes(device) || (device === "ane" && ineligible)) return;
      const { gflops, gbytes } = RATES[device];
      const { weights, values } = movedOn(op, device);
      costs[i * DEVICES.length + d] = op.free
        ? 0
        : Math.max(op.flops / (gflops * 1e6), (weights + values) / (gbytes * 1e6));
    });
  });
  return costs;
}

/** For each operator, the bytes of values made before it and used by it or later. */
function cutBytes({ values, kindOf }: FunctionFacts): Float64Array {
  const delta = new Float64Array(kindOf.length + 2);
  for (let v = 0; v < values.name.length; v++) {
    const madeBy = values.madeBy[v] as number;
    const lastUse = values.lastUse[v] as number;
    const bytes = values.bytes[v] as number;
    if (madeBy < 0 || lastUse < 0) continue;
    delta[madeBy + 1] = (delta[madeBy + 1] as number) + bytes;
    delta[lastUse + 1] = (delta[lastUse + 1] as number) - bytes;
  }
  const out = new Float64Array(kindOf.length);
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
): { readonly rule: RuleId; readonly reason: string } {
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
      reason: `The Neural Engine could run ${op.type}, but going there and back would take longer than it saves.`,
    };
  return preferred === "gpu"
    ? { rule: "gpu-faster", reason: "The GPU is the quickest unit that the target allows." }
    : {
        rule: "island",
        reason: `The GPU could run ${op.type}, but going there and back would take longer than it saves.`,
      };
}

/** Share of a run's work from which on an operator speaks for it. */
const SPEAKS = 0.1;

/**
 * Why a run is where it is. The heaviest operator speaks for it: on the CPU the heaviest of those that are kept there by a rule,
 * not by the way back. Where the run begins with another one, that is said, too.
 */
function causeOf(
  facts: FunctionFacts,
  ops: readonly OpPlan[],
  run: { readonly device: PlacedDevice; readonly first: number; readonly last: number },
): string {
  const own = ops.slice(run.first, run.last + 1);
  const typeOf = (op: OpPlan): string => facts.kinds[facts.kindOf[run.first + own.indexOf(op)] as number]?.type ?? "";
  const whole = own.reduce((sum, { costMs }) => sum + costMs, 0);
  const share = (op: OpPlan): string =>
    `${Math.round((100 * op.costMs) / whole)} % of the work there is one ${typeOf(op)}`;
  const heaviest = (among: readonly OpPlan[]): OpPlan | undefined =>
    among.reduce<OpPlan | undefined>(
      (most, op) => (most !== undefined && most.costMs >= op.costMs ? most : op),
      undefined,
    );
  if (run.device !== "cpu") {
    const most = heaviest(own);
    if (own.length === 1 || most === undefined)
      return "the next lowered operation takes less time there, including the transfer.";
    // Not the ops of the segment: one op becomes several operations, and those of a cache belong to another segment's op.
    const part = whole === 0 ? "" : `; ${share(most)}`;
    return `the next ${own.length} lowered operations take less time there, including the transfer${part}.`;
  }
  const kept = own.filter(({ rule }) => rule !== "free" && rule !== "island");
  const most = heaviest(kept) ?? heaviest(own.filter(({ rule }) => rule !== "free")) ?? own[0];
  if (most === undefined) return "";
  const [first] = kept;
  const begins =
    first === undefined || first.reason === most.reason ? "" : ` It begins with ${typeOf(first)}: ${first.reason}`;
  const main = heaviest(own);
  // What keeps it there may be small: then most of its work is what follows, for which the way back does not pay.
  if (main !== undefined && whole > 0 && most.costMs < SPEAKS * whole && !kept.includes(main))
    return `Most of the work there follows what stays: ${share(main)}, for which the way back takes longer than it saves. What stays is ${typeOf(most)}: ${most.reason}${begins}`;
  return `${most.reason}${own.length === 1 || whole === 0 ? "" : ` ${share(most)}.`}${begins}`;
}

function runsOf(facts: FunctionFacts, ops: readonly OpPlan[], devices: Uint8Array): readonly PlanRun[] {
  const bounds: { device: PlacedDevice; first: number; last: number }[] = [];
  const runOf = new Int32Array(devices.length);
  for (let i = 0; i < devices.length; i++) {
    const open = bounds.at(-1);
    if (open !== undefined && devices[i] === devices[i - 1]) open.last = i;
    else bounds.push({ device: DEVICES[devices[i] as number] ?? "cpu", first: i, last: i });
    runOf[i] = bounds.length - 1;
  }
  const inputs = bounds.map(() => new Map<string, number>());
  const outputs = bounds.map(() => new Map<string, number>());
  const { values, operandStart, operands } = facts;
  // A single run has nothing to cross.
  for (let i = 0; i < devices.length && bounds.length > 1; i++) {
    const run = runOf[i] as number;
    for (let o = operandStart[i] as number; o < (operandStart[i + 1] as number); o++) {
      const value = operands[o] as number;
      const madeBy = values.madeBy[value] as number;
      const from = madeBy < 0 ? run : (runOf[madeBy] as number);
      if (from === run) continue;
      const [name, bytes] = [values.name[value] ?? "", values.bytes[value] as number];
      inputs[run]?.set(name, bytes);
      outputs[from]?.set(name, bytes);
    }
  }
  const list = (values: ReadonlyMap<string, number> | undefined): readonly CrossingValue[] =>
    [...(values ?? [])].map(([name, bytes]) => ({ name, bytes }));
  return bounds.map((b, r): PlanRun => {
    const before = bounds[r - 1];
    const why =
      before === undefined
        ? "The program begins here."
        : `${DEVICE_NAMES[before.device]} → ${DEVICE_NAMES[b.device]}: ${causeOf(facts, ops, b)}`;
    return { ...b, inputs: list(inputs[r]), outputs: list(outputs[r]), why };
  });
}
