/** Routes and node details made up from a graph by a few simple rules, shaped as the engine's own. */
import type { Device, Figure, Phase, TargetSpec } from "../../../main/contract/views/common.ts";
import { deviceCode } from "../../../main/contract/views/common.ts";
import type { GraphView, LoweringView, NodeView } from "../../../main/contract/views/graph.ts";
import { NODE_FLAGS } from "../../../main/contract/views/graph.ts";
import type { DeviceShare, HopView, RouteView, SegmentView } from "../../../main/contract/views/route.ts";
import { groupPath, groupName, nodeName, opName } from "../../graph/graphModel.ts";

export const figure = (
  value: number,
  unit: Figure["unit"],
  truth: Figure["truth"] = "predicted",
  part: Partial<Figure> = {},
): Figure => ({
  value,
  low: null,
  high: null,
  unit,
  truth,
  basis: "made up for development",
  ...part,
});

export const isHidden = (view: GraphView, node: number): boolean =>
  ((view.nodes.flags[node] ?? 0) & (NODE_FLAGS.param | NODE_FLAGS.constant)) !== 0;

const HOST_OPS = new Set(["fft", "lstm", "custom"]);

export function placeNode(
  view: GraphView,
  node: number,
  target: TargetSpec,
): { device: Device; rule: string; reason: string } {
  const op = opName(view, node);
  const off = target.units === "cpu" ? "cpu" : target.units === "cpu-gpu" ? "gpu" : null;
  if (isHidden(view, node) || op === "input" || op === "state") return { device: "none", rule: "", reason: "" };
  if (HOST_OPS.has(op))
    return {
      device: "host",
      rule: "host.no-mil-op",
      reason: `Core ML has no op for ${op}; our own code runs it between two segments.`,
    };
  if (off === "cpu") return { device: "cpu", rule: "units", reason: "Only the CPU was allowed." };
  if (op === "gather")
    return {
      device: "cpu",
      rule: "ane.gather",
      reason: "The Neural Engine has no gather; a single row is cheapest on the CPU.",
    };
  if (off === "gpu") return { device: "gpu", rule: "units", reason: "The Neural Engine was not allowed." };
  const path = groupPath(view, view.nodes.group[node] ?? 0).map((group) => groupName(view, group));
  if (op === "attention" && path.includes("block 7"))
    return {
      device: "gpu",
      rule: "ane.rank",
      reason: "The mask is rank 6 after broadcasting. The Neural Engine takes at most 5 dimensions.",
    };
  if (nodeName(view, node) === "output")
    return {
      device: "gpu",
      rule: "ane.width",
      reason: "151 936 rows are more than the 65 536 that the Neural Engine takes in one op.",
    };
  return {
    device: "ane",
    rule: "eligible",
    reason: "Every rule allows the Neural Engine, and its neighbours run there too.",
  };
}

/** A normalisation on the Neural Engine is several operations, and its casts are on the CPU. */
const NORM: LoweringView = {
  operations: 5,
  groups: [
    {
      operations: [{ type: "cast", count: 2 }],
      device: "cpu",
      rule: {
        id: "ane.cast",
        verdict: "hard",
        sentence: "Casts between integers and halves are done on the CPU.",
        source: "Apple's rules for the Neural Engine",
      },
      workShare: 0.1,
    },
    {
      operations: [
        { type: "mul", count: 2 },
        { type: "rsqrt", count: 1 },
      ],
      device: "ane",
      rule: {
        id: "eligible",
        verdict: "cost",
        sentence: "Nothing keeps any of them off the Neural Engine.",
        source: "our placement model",
      },
      workShare: 0.9,
    },
  ],
  follows:
    "2 of 5 operations are predicted on the CPU, 3 on the Neural Engine. The op counts for the Neural Engine: its heaviest operation is there, mul, 60 % of its work.",
};
const LOWERINGS: readonly LoweringView[] = [{ operations: 0, groups: [], follows: "" }, NORM];

const loweringOf = (view: GraphView, node: number, device: Device): number =>
  opName(view, node) === "rms_norm" && device === "ane" ? LOWERINGS.indexOf(NORM) : 0;

const workOf = (view: GraphView, node: number): number => {
  const op = opName(view, node);
  if (op === "linear") return nodeName(view, node) === "output" ? 95 : nodeName(view, node).includes("gate") ? 5 : 2;
  if (op === "attention" || op === "fft" || op === "lstm") return 4;
  return ["reshape", "positions", "rope_table"].includes(op) ? 0.02 : 0.3;
};

export function fakeRoute(view: GraphView, target: TargetSpec, phase: Phase, targetTitle: string): RouteView {
  const strings: string[] = [""];
  const string = (text: string): number => {
    const at = strings.indexOf(text);
    return at >= 0 ? at : strings.push(text) - 1;
  };
  const n = view.nodeCount;
  const nodes = {
    device: new Uint8Array(n),
    work: new Float32Array(n),
    rule: new Uint32Array(n),
    reason: new Uint32Array(n),
    lowering: new Uint32Array(n),
  };
  const runs: { device: number; work: number; ops: number; firstNode: number; segment: number; group: number }[] = [];
  const segments: (SegmentView & { last: number })[] = [];
  const hops: HopView[] = [];
  let total = 0;
  for (let i = 0; i < n; i++) if (!isHidden(view, i)) total += workOf(view, i);
  for (let i = 0; i < n; i++) {
    const { device, rule, reason } = placeNode(view, i, target);
    if (device === "none") continue;
    const code = deviceCode(device);
    const work = workOf(view, i) / total;
    nodes.device[i] = code;
    nodes.work[i] = work;
    nodes.rule[i] = string(rule);
    nodes.reason[i] = string(reason);
    nodes.lowering[i] = loweringOf(view, i, device);
    const bytes = 2048 * (phase === "prefill" ? 512 : 1);
    let segment = segments.at(-1);
    if (segment === undefined || segment.device !== device) {
      const previous = segment;
      segment = {
        index: segments.length,
        device,
        title: `${device === "host" ? "host code" : device.toUpperCase()} from ${nodeName(view, i)}`,
        ops: 0,
        firstNode: i,
        lastNode: i,
        workShare: 0,
        bytesIn: bytes,
        bytesOut: bytes,
        inputs: ["hidden"],
        outputs: ["hidden"],
        why: previous === undefined ? "The program starts here." : reason,
        last: i,
      };
      segments.push(segment);
      if (previous !== undefined)
        hops.push({
          fromSegment: previous.index,
          toSegment: segment.index,
          from: previous.device,
          to: device,
          values: 1,
          bytes,
          seconds: figure(0.00004, "seconds"),
        });
    }
    const index = segments.length - 1;
    segments[index] = { ...segment, ops: segment.ops + 1, lastNode: i, workShare: segment.workShare + work };
    const group = view.nodes.group[i] ?? 0;
    const run = runs.at(-1);
    if (run === undefined || run.device !== code || run.group !== group)
      runs.push({ device: code, work, ops: 1, firstNode: i, segment: index, group });
    else {
      run.work += work;
      run.ops += 1;
    }
  }
  const share = new Map<Device, { ops: number; work: number }>();
  for (const s of segments) {
    const known = share.get(s.device) ?? { ops: 0, work: 0 };
    share.set(s.device, { ops: known.ops + s.ops, work: known.work + s.workShare });
  }
  const devices: DeviceShare[] = (["ane", "gpu", "cpu", "host"] as const).flatMap((device) => {
    const part = share.get(device);
    return part === undefined
      ? []
      : [{ device, ops: part.ops, workShare: part.work, seconds: figure(part.work * 0.03, "seconds"), note: null }];
  });
  const bytes = hops.reduce((sum, hop) => sum + hop.bytes, 0);
  return {
    key: view.key,
    target,
    targetTitle,
    phase,
    truth: "predicted",
    lowerings: [...LOWERINGS],
    strings,
    nodes,
    runs: {
      device: Uint8Array.from(runs, (r) => r.device),
      work: Float32Array.from(runs, (r) => r.work),
      ops: Uint32Array.from(runs, (r) => r.ops),
      firstNode: Uint32Array.from(runs, (r) => r.firstNode),
      segment: Uint32Array.from(runs, (r) => r.segment),
    },
    segments: segments.map(({ last: _last, ...segment }) => segment),
    hops,
    devices,
    bytesPerStep: figure(bytes, "bytes"),
    cacheBytes: 0,
    sentence:
      hops.length === 0
        ? "Nothing crosses between devices."
        : `${hops.length} hops move ${Math.round(bytes / 1024)} KB per ${phase === "decode" ? "token" : "chunk of 512 tokens"}. Two of them are one attention in block 7 that could stay on the Neural Engine.`,
  };
}

export function fakeNode(view: GraphView, node: number, target: TargetSpec): NodeView {
  const { device, rule, reason } = placeNode(view, node, target);
  const text = (i: number | undefined): string => view.strings[i ?? 0] ?? "";
  const inputs = Array.from(view.edges.source.subarray(view.edges.start[node] ?? 0, view.edges.start[node + 1] ?? 0));
  const weights = inputs.filter((input) => isHidden(view, input));
  const path = groupPath(view, view.nodes.group[node] ?? 0)
    .slice(1)
    .map((group) => groupName(view, group));
  return {
    key: view.key,
    node,
    id: view.nodes.id[node] ?? node,
    op: opName(view, node),
    name: nodeName(view, node),
    path: path.join(" › "),
    summary:
      {
        linear: "Multiplies the rows of its input with a weight matrix that stays packed.",
        attention: "Causal attention over a growing cache, with grouped heads.",
      }[opName(view, node)] ?? "One op of the model.",
    placement:
      device === "none"
        ? null
        : {
            device,
            truth: "predicted",
            target,
            supported: device === "ane" ? ["ane", "gpu", "cpu"] : ["gpu", "cpu"],
            sentence: reason,
            rules: [
              {
                id: rule,
                verdict: device === "gpu" ? "hard" : "cost",
                sentence: reason,
                source: "Apple's rules for the Neural Engine",
              },
            ],
            lowering: loweringOf(view, node, device) === 0 ? null : NORM,
            fix:
              device === "gpu" && rule === "ane.rank"
                ? "Folding the heads into the batch would keep it on the Neural Engine: ANE 91 %, 2 hops fewer."
                : null,
            segment: 1,
          },
    inputs: inputs
      .filter((input) => !isHidden(view, input))
      .map((input, i) => ({
        label: ["query", "key", "value", "past"][i] ?? `input ${i}`,
        type: text(view.nodes.type[input]),
        from: input,
        fromName: nodeName(view, input),
      })),
    outputs: [{ label: "result", type: text(view.nodes.type[node]), from: null, fromName: "" }],
    attributes:
      opName(view, node) === "attention"
        ? [
            { label: "scale", value: "0.0884" },
            { label: "causal", value: "bottom right" },
            { label: "groups", value: "2" },
          ]
        : [],
    cost: [
      { label: "time", value: figure(0.000_062, "seconds") },
      { label: "share", value: figure(0.031, "share") },
      { label: "bytes read", value: figure(8.4e6, "bytes", "exact") },
    ],
    subgraphs: [],
    weights: weights.map((w) => ({
      tensor: nodeName(view, w),
      type: text(view.nodes.weight[w]).toUpperCase(),
      shape: [3072, 1024],
      bytes: 1.77e6,
      lowered:
        text(view.nodes.weight[w]) === "q4_k"
          ? "blockwise int4, 4.6 bits"
          : text(view.nodes.weight[w]) === "q6_k"
            ? "8-bit table"
            : null,
    })),
    origin: [
      ...weights.map((w) => ({
        kind: "tensor" as const,
        text: `${nodeName(view, w)} ${text(view.nodes.weight[w]).toUpperCase()}`,
        ref: null,
      })),
      { kind: "source", text: `${opName(view, node)} of ${path.at(-2) ?? "the model"}`, ref: null },
      { kind: "pass", text: "fuse attention", ref: null },
      { kind: "node", text: `${opName(view, node)} ${nodeName(view, node)}`, ref: node },
      { kind: "mil", text: "MIL scaled_dot_product_attention", ref: node },
      { kind: "segment", text: "segment 2 on the Neural Engine", ref: 1 },
    ],
    routed: node,
    mil: {
      text: `%attn_7 = scaled_dot_product_attention(\n  query=%q_rope_7, key=%k_7, value=%v_7,\n  attn_mask=%mask)[name="attn_7"]`,
      operations: ["scaled_dot_product_attention"],
    },
  };
}
