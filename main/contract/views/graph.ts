/**
 * The graph as it crosses once: flat typed arrays over node indices in program order, one string table, a tree of groups.
 * Everything that changes later (device, time, bytes) is an overlay: one column over the same indices.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import type { TargetSpec } from "./common.ts";
import {
  device,
  f32,
  fact,
  figure,
  i32,
  LARGEST_CONTEXT,
  modelId,
  phase,
  targetSpec,
  truth,
  u32,
  u8,
} from "./common.ts";

/** Precision of a computation. Targets take theirs from the weight profile. */
export const precision = z.enum(["f32", "mixed", "f16"]);
export type Precision = View<typeof precision>;

/**
 * The runtimes that a model can run on here. One of them, with a target and a phase, is the subject that the whole window
 * speaks of; each has a pipeline and a route of its own.
 */
const COREML = {
  backend: "coreml",
  title: "Core ML",
  /** What the legal graph becomes: the language of its text and its name. */
  lowered: { language: "mil", title: "MIL", step: "mil", counts: "MIL operations" },
  hint: "Neural Engine, GPU and CPU, placed op by op",
} as const;
const CPU = {
  backend: "cpu",
  title: "CPU",
  lowered: { language: "plan", title: "Plan", step: "plan", counts: "instructions" },
  hint: "All of it on the CPU, by our own engine",
} as const;
const MLX = {
  backend: "mlx",
  title: "MLX",
  lowered: { language: "plan", title: "Calls", step: "calls", counts: "calls" },
  hint: "All of it on the GPU",
} as const;
export const BACKENDS = [COREML, CPU, MLX] as const;
/** Their names, for what concerns one of them. */
export const RUNTIMES = { coreml: COREML.backend, cpu: CPU.backend, mlx: MLX.backend } as const;
export const backend = z.enum([COREML.backend, CPU.backend, MLX.backend]);
export type Backend = z.output<typeof backend>;
/** Those that run a whole program on one device. */
export type OwnBackend = Exclude<Backend, typeof COREML.backend>;

/** The first stage of a graph and the last; between them are the passes, by name. */
export const BUILT = "built";
export const LEGAL = "legal";
/**
 * Steps of the pipeline that leave the graph as it is: each op gets its verdict before `LEGAL` takes apart what has no rule, and
 * Core ML's program is cut into segments behind it. The last step is what the runtime is given (`loweredOf`).
 */
export const LEGALISE = "legalise";
export const SEGMENT = "segment";
const step = z.string().min(1).max(100);

/** Positions that bytes and work are counted for; without it, those that targets begin with. */
const context = z.number().int().min(1).max(LARGEST_CONTEXT).optional();

/** A place on a backend's way. Core ML's graphs have the sizes of a target; the CPU's may be in other floats. */
export const stage = z.discriminatedUnion("backend", [
  z.object({ backend: z.literal(COREML.backend), step, target: targetSpec }),
  z.object({ backend: z.literal(CPU.backend), step, context, precision: precision.optional() }),
  z.object({ backend: z.literal(MLX.backend), step, context }),
]);
export type Stage = View<typeof stage>;

/** Where MIL comes from: the stage that Core ML is given. */
export const ROUTED = { backend: COREML.backend, step: LEGAL } as const;

export const stageOn = (of: Backend, at: string, target: TargetSpec): Stage =>
  of === COREML.backend ? { backend: of, step: at, target } : { backend: of, step: at, context: target.context };

/** The stage that the routes of a backend speak about. */
export const routedStage = (of: Backend, target: TargetSpec): Stage => stageOn(of, LEGAL, target);
export const isRouted = ({ step: at }: Pick<Stage, "step">): boolean => at === LEGAL;
export const loweredOf = (of: Backend): (typeof BACKENDS)[number]["lowered"] =>
  (BACKENDS.find((each) => each.backend === of) ?? COREML).lowered;
export const backendTitle = (of: Backend): string => BACKENDS.find((each) => each.backend === of)?.title ?? of;
/** A step of a pipeline as a title. */
export function stepTitle(of: Backend, name: string): string {
  if (name === BUILT) return "As built";
  if (name === LEGALISE) return "Legalise";
  if (name === LEGAL) return "Decompose";
  if (name === SEGMENT) return "Segment";
  const lowered = loweredOf(of);
  return name === lowered.step ? lowered.title : name;
}
export const graphKey = z.object({ model: modelId, stage, phase });
export type GraphKey = View<typeof graphKey>;

/** Bits of `nodes.flags`; nextState: its value is what a state becomes. */
export const NODE_FLAGS = {
  input: 1,
  output: 2,
  param: 4,
  constant: 8,
  state: 16,
  fused: 32,
  view: 64,
  nextState: 128,
} as const;
/** op: what one op of the model became, when that is several. */
export const GROUP_KINDS = ["model", "repeat", "block", "part", "op"] as const;

/** Ids of nodes are operation × ID_SLOTS + a count, so that several nodes may stand for one operation of the model. */
export const ID_SLOTS = 64;
export const sourceOf = (id: number): number => Math.floor(id / ID_SLOTS);

export const graphView = z.object({
  key: graphKey,
  title: z.string(),
  nodeCount: z.number(),
  edgeCount: z.number(),
  /** Index 0 is always "". */
  strings: z.array(z.string()),
  nodes: z.object({
    /** Stable across stages for a node that survives. */
    id: u32,
    /** String indices: the op, a short name within its group, the type of its first output, the packed type of its weight. */
    op: u32,
    name: u32,
    type: u32,
    weight: u32,
    /** Index into `groups`. */
    group: u32,
    flags: u8,
    /** Bytes that the node reads in a step: weights as the stage's backend holds them, caches and activations. */
    bytesRead: f32,
  }),
  /** Inputs in CSR form: those of node i are edges start[i] … start[i+1]-1. */
  edges: z.object({
    start: u32,
    /** Producing node index and its output number. */
    source: u32,
    output: u8,
    /** String index of the value's type. */
    type: u32,
    /** Bytes of the value; 0 when its size is not known. */
    bytes: f32,
  }),
  /**
   * Group 0 is the model. A `repeat` group holds blocks ×N; equal `structure` means equal in ops, types and wiring, so that
   * the window folds runs of equal blocks and marks the odd ones out.
   */
  groups: z.object({
    parent: i32,
    kind: u8,
    name: u32,
    structure: u32,
    /** Nodes of a group, descendants included, are contiguous in program order where the model allows it. */
    firstNode: u32,
    nodeCount: u32,
    /** String index of what makes it differ from its siblings ("attention on GPU", "q6_k"), or 0. */
    note: u32,
    /** String index of what it does, in words that tell it from other blocks ("window of 512, 2 of 8 experts"), or 0. */
    words: u32,
  }),
});
export type GraphView = View<typeof graphView>;

export const OVERLAYS = ["device", "segment", "time", "bytes", "flops", "type"] as const;
export const overlayKind = z.enum(OVERLAYS);
export type OverlayKind = z.output<typeof overlayKind>;
/** One number per node index. device: a code of DEVICES · segment: its index, -1 none · type: legend index · else a quantity. */
export const overlayView = z.object({
  key: graphKey,
  kind: overlayKind,
  truth,
  basis: z.string(),
  values: f32,
  legend: z.array(z.string()),
  /** time: the step that the values are shares of; absent for others, and where no time is predicted. */
  whole: figure.optional(),
});
export type OverlayView = View<typeof overlayView>;

export const ruleHit = z.object({
  id: z.string(),
  verdict: z.enum(["hard", "soft", "cost", "neighbour", "host"]),
  sentence: z.string(),
  source: z.string(),
});
export type RuleHit = View<typeof ruleHit>;

/** What an op became that is several MIL operations; of one that is not, nothing. */
export const lowering = z.object({
  operations: z.number(),
  /** By device and reason, in the order of the program. */
  groups: z.array(
    z.object({
      operations: z.array(z.object({ type: z.string(), count: z.number() })),
      device,
      rule: ruleHit,
      /** Of the op's own estimated work. */
      workShare: z.number(),
    }),
  ),
  /** How the op's own device follows from theirs. */
  follows: z.string(),
});
export type LoweringView = View<typeof lowering>;

/** "cast, floor_div ×2" */
export const operationsText = (operations: LoweringView["groups"][number]["operations"]): string =>
  operations.map(({ type, count }) => (count === 1 ? type : `${type} ×${count}`)).join(", ");

/** The answer to "Why here?". */
export const placement = z.object({
  device,
  truth,
  target: targetSpec,
  /** Where all of it can run. */
  supported: z.array(device),
  sentence: z.string(),
  /** Reasons in order of weight; those that exclude a device name it in the sentence. */
  rules: z.array(ruleHit),
  lowering: lowering.nullable(),
  fix: z.string().nullable(),
  segment: z.number().nullable(),
});
export type Placement = View<typeof placement>;

export const nodeValue = z.object({
  label: z.string(),
  type: z.string(),
  from: z.number().nullable(),
  fromName: z.string(),
});
export const nodeWeight = z.object({
  tensor: z.string(),
  type: z.string(),
  shape: z.array(z.number()),
  bytes: z.number(),
  /** How the target stores it ("blockwise int4, 4.6 bits"), when it is known. */
  lowered: z.string().nullable(),
});
/** One link of the chain GGUF tensor → IR op → each pass → MIL op → segment. */
export const originStep = z.object({
  kind: z.enum(["tensor", "source", "pass", "node", "mil", "segment"]),
  text: z.string(),
  /** The segment index or the node it refers to; a pass is named by its text, a tensor by the weight at the same place. */
  ref: z.number().nullable(),
});
export type OriginStep = View<typeof originStep>;

export const nodeView = z.object({
  key: graphKey,
  node: z.number(),
  id: z.number(),
  op: z.string(),
  name: z.string(),
  path: z.string(),
  /** The op's own one-sentence summary. */
  summary: z.string(),
  placement: placement.nullable(),
  inputs: z.array(nodeValue),
  outputs: z.array(nodeValue),
  attributes: z.array(fact),
  cost: z.array(z.object({ label: z.string(), value: figure })),
  weights: z.array(nodeWeight),
  /** Of control flow: each sub-graph with its text, which is cut when it is long. */
  subgraphs: z.array(z.object({ name: z.string(), summary: z.string(), text: z.string() })),
  origin: z.array(originStep),
  /** The node of the legal graph that stands for it: its lines in the MIL program are those of that node. */
  routed: z.number().nullable(),
  /** What it became in the MIL program, when it has been lowered: the text, and the operators by name. */
  mil: z.object({ text: z.string(), operations: z.array(z.string()) }).nullable(),
});
export type NodeView = View<typeof nodeView>;

/** The last of a list is the step to the legal graph. */
export const passView = z.object({
  name: z.string(),
  reason: z.string(),
  changed: z.boolean(),
  /** Ops of the graph: what is neither an input, a weight, a constant nor a state. */
  opsBefore: z.number(),
  opsAfter: z.number(),
  time: figure,
  hits: z.number(),
  /** Where a pattern nearly matched and why it did not. */
  misses: z.array(z.object({ where: z.string(), why: z.string(), node: z.number().nullable() })),
});
export type PassView = View<typeof passView>;
export const passList = z.object({ model: modelId, backend, phase, passes: z.array(passView), total: figure });
export type PassList = View<typeof passList>;

/** Both texts of a pass; long unchanged stretches are left out unless `full` was asked for. */
export const passDiff = z.object({
  pass: z.string(),
  beforeTitle: z.string(),
  afterTitle: z.string(),
  before: z.string(),
  after: z.string(),
  elidedLines: z.number(),
  addedIds: u32,
  removedIds: u32,
  changedIds: u32,
});
export type PassDiff = View<typeof passDiff>;

/** What a program would cost that took the shortest way to the end from a step: legalised, and for Core ML routed. */
export const stepNumbers = z.object({
  /** null: one device, nothing to cross. */
  hops: z.number().nullable(),
  aneShare: z.number().nullable(),
  /** Of one token or chunk. */
  seconds: figure,
});
export type StepNumbers = View<typeof stepNumbers>;

export const stepsInput = z.object({ model: modelId, backend, phase, target: targetSpec });

/** A line of what a step did: an op with its verdict, a segment with its device, an operation with its count. */
export const stepDetail = z.object({ name: z.string(), what: z.string(), count: z.number(), why: z.string() });
export type StepDetail = View<typeof stepDetail>;
/** More than that are cut off; `says` has the whole. */
export const MOST_DETAILS = 500;

export const stepsItem = z.discriminatedUnion("kind", [
  /**
   * As built, after each pass that changed something, and the steps to what the runtime is given. `counts`: what its ops are
   * ("MIL operations"). `ops`: null where they are not known yet.
   */
  z.object({
    kind: z.literal("list"),
    steps: z.array(z.object({ name: z.string(), counts: z.string(), ops: z.number().nullable() })),
  }),
  z.object({
    kind: z.literal("numbers"),
    index: z.number(),
    /** null: the runtime cannot run all of it. */
    ops: z.number().nullable(),
    /** What the step did, in a sentence; "" of a pass, which `passes.list` speaks of. */
    says: z.string(),
    details: z.array(stepDetail).max(MOST_DETAILS),
    numbers: stepNumbers,
  }),
]);
export type StepsItem = View<typeof stepsItem>;

/** A number that must not get worse, or the device of an op, named by its id in any of the graphs. */
export const watched = z.union([z.enum(["ane", "hops", "seconds", "ops"]), z.object({ op: z.number().int().min(0) })]);
export type Watched = View<typeof watched>;

export const bisection = z.object({
  /** The step after which it was worse; null: it never was. */
  step: z.string().nullable(),
  sentence: z.string(),
  /** The steps that were looked at, in order, with the value after each; a device by its code. */
  seen: z.array(z.object({ name: z.string(), value: z.number() })),
  /** Steps that there are. */
  steps: z.number(),
});
export type Bisection = View<typeof bisection>;

/** A page of a program's text; `nodes[i]` is the node index that line i belongs to, or -1. */
export const textPage = z.object({
  language: z.enum(["rlx-ir", "mil", "plan"]),
  title: z.string(),
  totalLines: z.number(),
  firstLine: z.number(),
  text: z.string(),
  nodes: i32,
});
export type TextPage = View<typeof textPage>;

/** Lines of a program's text in which something stands; lines are counted from zero, and only so many are listed. */
export const MOST_FOUND = 1000;
export const textFound = z.object({ total: z.number(), lines: z.array(z.number()).max(MOST_FOUND) });
export type TextFound = View<typeof textFound>;
