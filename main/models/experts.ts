/**
 * Mixtures of experts: what a file says of them, and their part of the graph. A router picks `used` of `count`
 * feed-forward networks for each token; their results are added up by the router's weights.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { mulDims } from "../ir/dim.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { maskedScore } from "../ops/families/constants.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Activation } from "./activation.ts";
import { activate } from "./activation.ts";
import type { ModelGraph } from "./blocks.ts";
import { TOKENS } from "./blocks.ts";
import type { HyperReader } from "./hyperReader.ts";
import { two } from "./parts.ts";

/** What makes weights of the router's logits; `chosen` picks by the logits and takes the softmax, or the sigmoid, of these alone. */
export type Gating = "softmax" | "sigmoid" | "chosen" | "sqrtsoftplus" | "chosen sigmoid";
const GATINGS: readonly (Gating | undefined)[] = [undefined, "softmax", "sigmoid", "chosen", "sqrtsoftplus"];

/**
 * silu(gate) · up; the same with gelu; with limits, g · σ(1.702 g) · (u + 1) of a gate up to 7 and
 * an up within ± 7; or without a gate, gelu(up), or relu(up)² in the shared network too.
 */
type ExpertActivation = "silu" | "gelu" | "limited" | Ungated;
type Ungated = "gelu alone" | "squared";

export interface Shared {
  readonly width: number;
  readonly gated: boolean;
  /** What the sum with the experts is multiplied by. */
  readonly share: number;
}

export interface Experts {
  readonly count: number;
  readonly used: number;
  /** Inner size of one expert. */
  readonly width: number;
  readonly gating: Gating;
  /** The weights of the picked ones are divided by their sum. */
  readonly normalise: boolean;
  readonly scale: number;
  /** Experts are picked from the best `used` of `count` groups. */
  readonly groups?: { readonly count: number; readonly used: number } | undefined;
  /** A network beside them that every token runs through; `gated` by a sigmoid of the token. */
  readonly shared?: Shared | undefined;
  /** The weights multiply what goes into the experts instead of what comes out. */
  readonly weighsInputs: boolean;
  readonly activation: ExpertActivation;
  /** Experts see the token in so many dimensions, between two matrices of the layer; absent where they see it whole. */
  readonly latent?: number | undefined;
  /** True for layers that have experts; the others have one network. */
  readonly isMixture: (layer: number) => boolean;
  /** Layers up to this one have a table of the experts of each token. */
  readonly listedLayers?: number;
  /** What gate and up of a layer are held to, where they are; the gate before its activation. */
  readonly limits?: ((layer: number) => Limits) | undefined;
  /** An old file, with a tensor for each expert. */
  readonly isSplit: boolean;
}

/** Undefined where there is none. */
export interface Limits {
  readonly experts: number | undefined;
  readonly shared: number | undefined;
}

/** Where the size stands: its own key is that of one of so many, or of all; a dense layer's or an expert's. */
type SharedWidth = "key" | "count" | "key or count" | "whole key or count" | "expert" | "key or feed_forward_length";

export interface ExpertRules {
  /** Where the file does not say it. */
  readonly gating: Gating;
  /** Which of expert_gating_func and expert_weights_scale say something in files of the family. */
  readonly reads?: "gating" | "scale" | "gating and scale";
  /** "file": as expert_weights_norm says. */
  readonly normalise: boolean | "file";
  /**
   * Where an expert's inner size stands, if not in expert_feed_forward_length: feed_forward_length has it, or where the
   * other key is missing, that of all experts of a token.
   */
  readonly width?: "feed_forward_length" | "all of a token";
  /** Where the inner size of the shared network comes from; absent for families without one. */
  readonly shared?: { readonly width: SharedWidth; readonly gated: boolean; readonly share?: number };
  readonly weighsInputs?: boolean;
  readonly activation?: ExpertActivation;
}

/** The file's experts; undefined where it has none. `feedForward` is an expert's inner size where no key says it. */
export function readExperts(
  keys: HyperReader,
  { layers, feedForward }: { readonly layers: number; readonly feedForward: number },
  rules: ExpertRules,
): Experts | undefined {
  const count = keys.optionalCount("expert_count") ?? 0;
  if (count === 0) return undefined;
  const used = keys.positive("expert_used_count");
  if (used > count) throw keys.badKey("expert_used_count", used, `at most the ${count} experts`);
  const ownWidth = rules.width === "feed_forward_length" ? 0 : (keys.optionalCount("expert_feed_forward_length") ?? 0);
  const otherwise = rules.width === "all of a token" ? Math.floor(feedForward / used) : feedForward;
  const width = ownWidth === 0 ? otherwise : ownWidth;
  const first = keys.optionalCount("leading_dense_block_count") ?? 0;
  const step = keys.optionalCount("interleave_moe_layer_step") ?? 1;
  const isMixture = (layer: number): boolean => layer >= first && (step <= 1 || (layer + 1) % step === 0);
  const isSplit = keys.has(`blk.${first}.ffn_gate.0.weight`);
  // Each of them becomes a part of the graph.
  const mixtures = Array.from({ length: layers }, (_, layer) => isMixture(layer)).filter(Boolean).length;
  if (isSplit && 3 * count * mixtures > keys.file.tensors.length)
    throw keys.badKey("expert_count", count, `three tensors for each expert of ${mixtures} layers`);
  const { reads = "" } = rules;
  const gating = (reads.includes("gating") ? readGating(keys) : undefined) ?? rules.gating;
  const scale = reads.includes("scale") ? (keys.optionalNumber("expert_weights_scale") ?? 0) : 0;
  const normalise = rules.normalise === "file" ? keys.isTrue("expert_weights_norm") : rules.normalise;
  return {
    count,
    used,
    width,
    gating,
    normalise,
    scale: scale === 0 ? 1 : scale,
    groups: readGroups(keys, count),
    shared: readShared(keys, rules, width, feedForward),
    isMixture,
    weighsInputs: rules.weighsInputs ?? false,
    activation: rules.activation ?? "silu",
    latent: keys.optionalCount("moe_latent_size") || undefined,
    isSplit,
  };
}

/** Undefined where the file leaves it to the family. */
function readGating(keys: HyperReader): Gating | undefined {
  const code = keys.optionalCount("expert_gating_func") ?? 0;
  if (code < GATINGS.length) return GATINGS[code];
  throw keys.badKey("expert_gating_func", code, `0 to ${GATINGS.length - 1}`);
}

function readGroups(keys: HyperReader, experts: number): Experts["groups"] {
  const count = keys.optionalCount("expert_group_count") ?? 1;
  if (count <= 1) return undefined;
  const used = keys.optionalCount("expert_group_used_count") ?? count;
  if (experts % count !== 0 || used > count)
    throw keys.badKey("expert_group_count", count, `a divisor of ${experts} experts, and at least the ${used} used`);
  return { count, used };
}

function readShared(keys: HyperReader, rules: ExpertRules, width: number, feedForward: number): Experts["shared"] {
  const { shared } = rules;
  if (shared === undefined) return undefined;
  const own = keys.optionalCount("expert_shared_feed_forward_length") ?? 0;
  const count = keys.optionalCount("expert_shared_count") ?? 0;
  const inner = {
    key: own,
    count: width * count,
    "key or count": (own === 0 ? width : own) * count,
    "whole key or count": count === 0 || own === 0 ? width * count : own,
    expert: width,
    "key or feed_forward_length": own === 0 ? feedForward : own,
  }[shared.width];
  return inner === 0 ? undefined : { width: inner, gated: shared.gated, share: shared.share ?? 1 };
}

/**
 * The sum of the picked experts' results by their weights, and of the shared network. `logits` makes what they are
 * picked by.
 */
export function mixture(
  d: ModelGraph,
  x: Experts,
  block: string,
  h: Value,
  logits = (): Value => d.linear(h, `${block}ffn_gate_inp`, [x.count, d.sizes.width], "logits"),
): Value {
  const routed = d.scoped("router", () => route(d, x, block, logits()));
  d.countExperts(layerOf(block), routed.ids, x.count);
  const sum = d.scoped("experts", () =>
    x.isSplit
      ? splitExperts(d, x, block, h, routed)
      : inLatent(d, x, block, h, (rows) => pickedExperts(d, x, block, rows, routed)),
  );
  const { shared } = x;
  if (shared === undefined) return sum;
  const beside = d.scoped("shared", () => sharedNetwork(d, x, shared, block, h));
  const both = d.g.add([sum, beside], {}, "with_shared");
  return shared.share === 1 ? both : d.g.mul([both, d.g.constant(hostScalar("f32", shared.share))], {}, "shared_part");
}

/** 3 of "blk.3." */
const layerOf = (block: string): number => Number(/\d+/u.exec(block)?.[0]);

/** Layers that have experts, by the tensor of their router. */
export const expertLayers = (tensors: readonly string[]): readonly number[] =>
  tensors.flatMap((name) => {
    const found = /^blk\.(\d+)\.ffn_gate_inp\.weight$/u.exec(name);
    return found === null ? [] : [Number(found[1])];
  });

interface Routed {
  /** i32 [T, used] */
  readonly ids: Value;
  /** [T, used] */
  readonly weights: Value;
}

function route(d: ModelGraph, x: Experts, block: string, logits: Value): Routed {
  const { g } = d;
  const probabilities = gated(g, logits, x.gating);
  if (layerOf(block) < (x.listedLayers ?? 0)) {
    const ids = d.tokenNumbers(`${block}ffn_gate_tid2eid.weight`, x.used, "listed");
    return { ids, weights: weighed(g, takeEach(g, probabilities, ids, x.count), x) };
  }
  const bias = `${block}exp_probs_b.bias`;
  // The bias decides which are picked, and has no part in the weights.
  const biased = d.has(bias) ? g.add([probabilities, d.vector(bias, x.count)], {}, "biased") : probabilities;
  const scores = x.groups === undefined ? biased : withinGroups(g, biased, x.count, x.groups);
  const [best, ids] = g.topk([scores], { k: x.used }, "picked");
  if (best === undefined || ids === undefined) throw new WorkbenchError("BUG_INVARIANT", "[topk] expected two outputs");
  const taken = scores === probabilities ? best : takeEach(g, probabilities, ids, x.count);
  return { ids, weights: weighed(g, taken, x) };
}

function gated(g: OpBuilder, logits: Value, gating: Gating): Value {
  switch (gating) {
    case "softmax":
      return g.softmax([logits], { axis: -1 }, "probabilities");
    case "sigmoid":
      return g.sigmoid([logits], {}, "probabilities");
    case "sqrtsoftplus":
      return g.sqrt([g.softplus([logits], {})], {}, "probabilities");
    case "chosen":
    case "chosen sigmoid":
      return logits;
  }
}

/** Scores outside of the best groups vanish; a group is as good as the sum of its two best. */
function withinGroups(g: OpBuilder, scores: Value, count: number, groups: { count: number; used: number }): Value {
  const each = count / groups.count;
  const cut = g.reshape([scores], { shape: [TOKENS, groups.count, each] }, "groups");
  const [two] = g.topk([cut], { k: Math.min(2, each) });
  if (two === undefined) throw new WorkbenchError("BUG_INVARIANT", "[topk] expected two outputs");
  const good = g.reduce([two], { kind: "sum", axes: [2] }, "group_scores");
  const [best] = g.topk([good], { k: groups.used });
  if (best === undefined) throw new WorkbenchError("BUG_INVARIANT", "[topk] expected two outputs");
  const least = g.narrow([best], { axis: 1, start: groups.used - 1, length: 1 });
  const kept = g.reshape([g.compare([good, least], { op: "ge" })], { shape: [TOKENS, groups.count, 1] });
  const nothing = g.constant(hostScalar("f32", maskedScore("f32")));
  return g.reshape([g.where([kept, cut, nothing])], { shape: [TOKENS, count] }, "in_best_groups");
}

/** values[t, ids[t, j]] */
function takeEach(g: OpBuilder, values: Value, ids: Value, columns: number): Value {
  const row = g.mul([g.iota([], { shape: [TOKENS, 1], axis: 0 }), g.constant(hostScalar("i32", columns))]);
  const flat = g.reshape([values], { shape: [mulDims(columns, TOKENS)] });
  return g.gather([flat, g.add([row, ids])], { axis: 0 }, "picked_weights");
}

function weighed(g: OpBuilder, taken: Value, x: Experts): Value {
  const soft = softOf(g, taken, x.gating);
  const shared = x.normalise ? g.div([soft, sumOf(g, soft)], {}, "normalised") : soft;
  return x.scale === 1 ? shared : g.mul([shared, g.constant(hostScalar("f32", x.scale))], {}, "scaled");
}

function softOf(g: OpBuilder, taken: Value, gating: Gating): Value {
  if (gating === "chosen") return g.softmax([taken], { axis: -1 }, "weights");
  return gating === "chosen sigmoid" ? g.sigmoid([taken], {}, "weights") : taken;
}

/** Not below the smallest half float, so that a sum of nothing divides nothing. */
function sumOf(g: OpBuilder, weights: Value): Value {
  const sum = g.reduce([weights], { kind: "sum", axes: [1], keepDims: true });
  return g.maximum([sum, g.constant(hostScalar("f32", 2 ** -14))]);
}

/** `build` between the matrices that lead into the experts' dimensions and back. */
function inLatent(d: ModelGraph, { latent }: Experts, block: string, h: Value, build: (rows: Value) => Value): Value {
  if (latent === undefined) return build(h);
  const { width } = d.sizes;
  const rows = d.linear(h, `${block}ffn_latent_down`, [latent, width], "latent_down");
  return d.linear(build(rows), `${block}ffn_latent_up`, [width, latent], "latent_up");
}

function pickedExperts(d: ModelGraph, x: Experts, block: string, h: Value, { ids, weights }: Routed): Value {
  const { g } = d;
  const width = x.latent ?? d.sizes.width;
  const product = (rows: Value, name: string, out: number, inner: number, label: string): Value => {
    const w = d.weight(`${block}${name}.weight`, [x.count, out, inner]);
    const [scale, bias] = [d.scaleOf(`${block}${name}`), `${block}${name}.bias`];
    const added = d.has(bias) ? d.matrix(bias, [x.count, out]) : undefined;
    const adapted = (value: Value): Value =>
      d.withLowRankEach(value, [rows, ids], `${block}${name}`, [x.count, out, inner]);
    if (scale === undefined)
      return adapted(g.linear_grouped(added === undefined ? [rows, w, ids] : [rows, w, ids, added], {}, label));
    const scales = g.reshape([g.gather([d.vector(scale, x.count), ids], { axis: 0 })], { shape: [TOKENS, x.used, 1] });
    const scaled = g.mul([g.linear_grouped([rows, w, ids], {}, label), scales], {}, `${label}_scaled`);
    return adapted(
      added === undefined ? scaled : g.add([scaled, g.gather([added, ids], { axis: 0 })], {}, `${label}_biased`),
    );
  };
  const each = g.reshape([weights], { shape: [TOKENS, x.used, 1] });
  const alike = g.reshape([h], { shape: [TOKENS, 1, width] });
  const rows = x.weighsInputs ? g.mul([alike, each], {}, "weighted") : alike;
  const own = (name: "gate" | "up"): Value => product(rows, `ffn_${name}_exps`, x.width, width, name);
  const mixed = (): Value => {
    if (isUngated(x.activation)) return activate(g, own("up"), UNGATED[x.activation]);
    const isFused = d.has(`${block}ffn_gate_up_exps.weight`);
    const [gate, up] = isFused
      ? two(g, product(rows, "ffn_gate_up_exps", 2 * x.width, width, "gate_up"), [x.width, x.width], "gate_and_up")
      : [own("gate"), own("up")];
    return activated(g, ...held(g, gate, up, x.limits?.(layerOf(block)).experts), x.activation);
  };
  const down = product(mixed(), "ffn_down_exps", width, x.width, "down");
  const weighted = x.weighsInputs ? down : g.mul([down, each], {}, "weighted");
  return g.reduce([weighted], { kind: "sum", axes: [1] }, "sum");
}

const UNGATED: Readonly<Record<Ungated, Activation>> = { "gelu alone": "gelu", squared: "relu2" };
const isUngated = (activation: ExpertActivation): activation is Ungated => activation in UNGATED;

/** Picked by sigmoid and a bias; the file says whether their weights are normed, and how many are shared. */
export const SIGMOID_EXPERTS = {
  gating: "sigmoid",
  reads: "gating and scale",
  normalise: "file",
  shared: { width: "count", gated: false },
} as const;

/** Gate up to the limit, up within ± it. */
function held(g: OpBuilder, gate: Value, up: Value, limit: number | undefined): readonly [gate: Value, up: Value] {
  if (limit === undefined) return [gate, up];
  const high = Math.fround(limit);
  return [g.clamp([gate], { high }), g.clamp([up], { low: -high, high })];
}

function activated(g: OpBuilder, gate: Value, up: Value, activation: Exclude<ExpertActivation, Ungated>): Value {
  if (activation !== "limited") return g.mul([activate(g, gate, activation), up], {}, "gated");
  return g.swiglu_clamped([gate, up], { limit: 7, alpha: Math.fround(1.702), shift: 1 }, "gated");
}

/** Experts as tensors of their own: every token runs through all of them, those that were not picked weigh nothing. */
function splitExperts(d: ModelGraph, x: Experts, block: string, h: Value, { ids, weights }: Routed): Value {
  const { g } = d;
  const { width } = d.sizes;
  let sum: Value | undefined;
  for (let expert = 0; expert < x.count; expert++) {
    const result = d.scoped(`expert.${expert}`, () => {
      const gate = d.linear(h, `${block}ffn_gate.${expert}`, [x.width, width], "gate");
      const up = d.linear(h, `${block}ffn_up.${expert}`, [x.width, width], "up");
      const mixed = g.mul([g.silu([gate], {}, "activation"), up], {}, "gated");
      const down = d.linear(mixed, `${block}ffn_down.${expert}`, [width, x.width], "down");
      const isMine = g.compare([ids, g.constant(hostScalar("i32", expert))], { op: "eq" });
      const mine = g.where([isMine, weights, g.constant(hostScalar("f32", 0))]);
      return g.mul([down, g.reduce([mine], { kind: "sum", axes: [1], keepDims: true }, "weight")], {}, "weighted");
    });
    sum = sum === undefined ? result : g.add([sum, result], {}, "sum");
  }
  if (sum === undefined) throw new WorkbenchError("BUG_INVARIANT", "[experts] expected at least one");
  return sum;
}

function sharedNetwork(d: ModelGraph, x: Experts, shared: Shared, block: string, h: Value): Value {
  const { g } = d;
  const { width } = d.sizes;
  const own = (name: "gate" | "up"): Value => d.linear(h, `${block}ffn_${name}_shexp`, [shared.width, width], name);
  const gated = (): Value => {
    const [gate, up] = held(g, own("gate"), own("up"), x.limits?.(layerOf(block)).shared);
    return g.mul([g.silu([gate], {}, "activation"), up], {}, "gated");
  };
  const mixed = x.activation === "squared" ? activate(g, own("up"), "relu2") : gated();
  const down = d.linear(mixed, `${block}ffn_down_shexp`, [width, shared.width], "down");
  if (!shared.gated) return down;
  const vector = g.reshape([d.vector(`${block}ffn_gate_inp_shexp.weight`, width)], { shape: [1, width] });
  return g.mul([down, g.sigmoid([g.linear([h, vector], {}, "share")], {}, "open")], {}, "shared_part");
}
