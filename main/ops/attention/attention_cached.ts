import type { KernelParams } from "../../backends/cpu/emitter.ts";
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import type { MlxEmitter, MlxValue } from "../../backends/mlx/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AttrSchema } from "../../ir/attributes.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { dtypeAmong, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Sample } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { ScoreAttrs } from "../families/attention.ts";
import {
  alibiSlopes,
  attendRow,
  checkSlopes,
  fallWithDistance,
  groupOf,
  hideScores,
  jaxAttention,
  mlxAdditive,
  mlxFall,
  mlxShaped,
  mlxTakesAttention,
  scaleScores,
  visibleKeys,
} from "../families/attention.ts";
import { eachItem } from "../families/batching.ts";
import { scalarLike, sizeValue } from "../families/constants.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { integers, normal, normals, sample, scalarInput, withDoubles } from "../families/samples.ts";
import { swapLast } from "../linalg/matmul.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface AttentionCachedAttrs extends ScoreAttrs {
  /** Only keys from the token's position - window on (window + 1 keys). */
  readonly window?: number;
  /** Only keys of the token's own run of so many positions. */
  readonly chunk?: number;
  /** The caches are rings: position p lies in row p modulo the capacity. What is seen must not reach behind their newest rows. */
  readonly ring?: boolean;
}
export interface Arity {
  readonly least: 4;
  readonly most: 5;
}
type Operands<T> = InputsOf<Arity, T>;

/** [T, H, D] → [Hkv, G, T, D] against [Hkv, 1, D, capacity], masked by position. */
function decompose(g: OpBuilder, [q, k, v, past, sinks]: Operands<Value>, attrs: AttentionCachedAttrs): Value {
  const [tokens = 0, heads = 0, size = 0] = g.typeOf(q).shape;
  const [kvHeads = 0, capacity = 0, valueSize = 0] = g.typeOf(v).shape;
  const group = groupOf("attention_cached", heads, kvHeads);
  const dtype = plainDType(g.typeOf(q).dtype, "attention_cached");
  const wide = (x: Value): Value => (g.typeOf(x).dtype === dtype ? x : g.cast([x], { to: dtype }));
  const rows = g.reshape([g.transpose([q], { perm: [1, 0, 2] })], { shape: [kvHeads, group, tokens, size] });
  const keys = g.reshape([swapLast(g, wide(k))], { shape: [kvHeads, 1, size, capacity] });
  const position = g.add([g.iota([], { shape: [tokens, 1], axis: 0 }), past]);
  const places = placesOf(g, [capacity, tokens], past, attrs);
  const capped = scaleScores(g, g.matmul([rows, keys]), attrs);
  const scores = fallWithDistance(g, capped, [position, places], attrs.slopes);
  const seen = visibleKeys(g, position, places, attrs.window);
  const near = attrs.chunk === undefined ? seen : inChunk(g, seen, position, places, attrs.chunk);
  const visible = attrs.ring === true ? whereWritten(g, near, places) : near;
  const hidden = hideScores(g, scores, visible);
  const weights =
    sinks === undefined
      ? g.softmax([hidden], { axis: 3 })
      : besideSinks(g, hidden, g.reshape([sinks], { shape: [kvHeads, group, 1, 1] }));
  const mixed = g.matmul([weights, g.reshape([wide(v)], { shape: [kvHeads, 1, capacity, valueSize] })]);
  return g.transpose([g.reshape([mixed], { shape: [heads, tokens, valueSize] })], { perm: [1, 0, 2] });
}

/** The positions that the rows of the caches hold, i32 [capacity]; negative for rows of a ring that nothing was written to. */
function placesOf(
  g: OpBuilder,
  [capacity, tokens]: readonly [Dim, Dim],
  past: Value,
  { ring }: AttentionCachedAttrs,
): Value {
  const rows = g.iota([], { shape: [capacity], axis: 0 });
  if (ring !== true) return rows;
  const size = sizeValue(g, [capacity], "i32");
  const newest = g.sub([g.add([past, sizeValue(g, [tokens], "i32")]), scalarLike(g, past, 1)]);
  // Less than a turn behind the newest: the remainder of what is made positive first.
  return g.sub([newest, g.mod([g.add([g.sub([newest, rows]), size]), size])]);
}

const whereWritten = (g: OpBuilder, seen: Value, places: Value): Value =>
  g.where([g.compare([places, scalarLike(g, places, 0)], { op: "ge" }), seen, g.constant(hostScalar("bool", 0))]);

/** Keys behind its own that a token sees at most. */
export const reachOf = ({
  window = Infinity,
  chunk = Infinity,
}: Pick<AttentionCachedAttrs, "window" | "chunk">): number => Math.min(window, chunk - 1);

function checkReach(attrs: AttentionCachedAttrs): void {
  if (attrs.ring === true && reachOf(attrs) === Infinity)
    throw new WorkbenchError(
      "IR_ATTRIBUTE",
      "[attention_cached] ring: got no window and no chunk, expected one of them",
      { hint: "A ring forgets: give the window or chunk within which keys are seen." },
    );
}

/** A ring that goes around its end holds what the first token of a step sees, and all that the step brings. */
function checkRows(past: number, tokens: number, capacity: number, attrs: AttentionCachedAttrs): void {
  const reach = reachOf(attrs);
  if (attrs.ring !== true || past + tokens <= capacity || tokens + reach <= capacity) return;
  throw new WorkbenchError(
    "RUN_CONTEXT_FULL",
    `[attention_cached] ring: got ${capacity} rows, expected at least ${tokens + reach}: a step of ${tokens} and ${reach} before it`,
  );
}

/** What is seen, from the first position of the row's chunk on. */
function inChunk(g: OpBuilder, seen: Value, position: Value, places: Value, chunk: number): Value {
  const size = g.constant(hostScalar("i32", chunk));
  const first = g.mul([g.div([position, size]), size]);
  return g.where([g.compare([places, first], { op: "ge" }), seen, g.constant(hostScalar("bool", 0))]);
}

/** The softmax of the scores and of the head's sink, without the sink's own share. */
function besideSinks(g: OpBuilder, scores: Value, sink: Value): Value {
  const most = g.stop_gradient([g.maximum([g.reduce([scores], { kind: "max", axes: [3], keepDims: true }), sink])]);
  const shares = g.exp([g.sub([scores, most])]);
  const own = g.exp([g.sub([sink, most])]);
  return g.div([shares, g.add([g.reduce([shares], { kind: "sum", axes: [3], keepDims: true }), own])]);
}

function mlxTakes(node: NodeInfo<AttentionCachedAttrs>): true | string {
  if (node.inputs.length > 4) return "sinks are computed by parts";
  return node.attrs.chunk === undefined ? mlxTakesAttention(node) : "chunks are computed by parts";
}

/** [1, H, T, D] over [1, Hkv, capacity, D] with a mask by position, which is the same for all layers. */
function mlxCachedAttention(
  e: MlxEmitter,
  [q, k, v, past]: Operands<MlxValue>,
  { scale, window, slopes, ring = false }: AttentionCachedAttrs,
): MlxValue {
  const [tokens = 0, heads = 0, size = 0] = q.type.shape;
  const [kvHeads = 0, capacity = 0, valueSize = 0] = v.type.shape;
  const { dtype } = q.type;
  const turn = (x: MlxValue, shape: Shape): MlxValue =>
    e.one("transpose", [x], tensor(dtype, shape), { perm: [1, 0, 2] });
  const cached = (x: MlxValue, last: Dim): MlxValue => {
    const wide = x.type.dtype === dtype ? x : e.one("cast", [x], tensor(dtype, x.type.shape));
    return mlxShaped(e, wide, [1, kvHeads, capacity, last]);
  };
  if (ring) e.checkRing(k, past, tokens, reachOf(window === undefined ? {} : { window }));
  const turning = ring ? { ring } : {};
  const near = { ...(window === undefined ? {} : { window }), ...turning };
  const seen = e.one("cache_mask", [past], tensor("bool", [tokens, capacity]), near);
  const own = plainDType(dtype, "attention_cached");
  const hidden = window === undefined && slopes === undefined ? seen : mlxAdditive(e, seen, own);
  const mask =
    slopes === undefined
      ? hidden
      : e.one(
          "add",
          [hidden, mlxFall(e, [past], [own, heads, tokens, capacity], { slopes, ...turning })],
          tensor(own, [heads, tokens, capacity]),
        );
  const rows = mlxShaped(e, turn(q, [heads, tokens, size]), [1, heads, tokens, size]);
  const mixed = e.one(
    "attention",
    [rows, cached(k, size), cached(v, valueSize), mask],
    tensor(dtype, [1, heads, tokens, valueSize]),
    { scale },
  );
  return turn(mlxShaped(e, mixed, [heads, tokens, valueSize]), [tokens, heads, valueSize]);
}

/** For the CPU's kernels: their window includes the token's own position. */
export const cpuAttentionParams = ({
  scale,
  softcap,
  window,
  chunk,
  slopes,
  ring = false,
}: AttentionCachedAttrs): KernelParams => ({
  scale,
  softcap: softcap ?? 0,
  window: window === undefined ? 0 : window + 1,
  ...(chunk !== undefined && { chunk }),
  ...(slopes && { slopes }),
  ...(ring && { ring }),
  causal: true,
});

const cached = (
  title: string,
  seed: number,
  [tokens, heads, kvHeads, capacity, size, past]: readonly [number | string, number, number, number, number, number],
  attrs: AttentionCachedAttrs,
  more: Partial<Sample<AttentionCachedAttrs>> = {},
): Sample<AttentionCachedAttrs> => {
  const cache = [kvHeads, capacity, size];
  return sample(title, [...normals(seed, [tokens, heads, size], cache, cache), scalarInput(past)], attrs, more);
};

/** Attributes that say what is seen, and how scores are made. */
export const ATTENTION_CACHED_ATTRS: AttrSchema<AttentionCachedAttrs> = {
  scale: attr.float(),
  softcap: attr.optional(attr.float()),
  window: attr.optional(attr.int(0)),
  chunk: attr.optional(attr.int(1)),
  slopes: attr.optional(attr.floats()),
  ring: attr.optional(attr.bool()),
};

/** By JAX, over `attend`. */
export const CACHED_JAX = jaxAttention(
  `
i, j = np.arange(x0.shape[0])[:, None] + x3, np.arange(x1.shape[1])[None]
if a.get("ring"):
    last = x3 + x0.shape[0] - 1
    j = last - (last - j) % x1.shape[1]
keep = (j >= 0) & (j <= i) & (j >= i - a.get("window", 1 << 30)) & (j >= i // a.get("chunk", 1 << 30) * a.get("chunk", 1 << 30))
np.asarray(attend(np.swapaxes(x0, 0, 1)[None], x1[None], x2[None], keep, 0.0, xs[4] if len(xs) > 4 else None, i - j))[0].swapaxes(0, 1)
`.trim(),
);

const coremlAttention = (
  e: CoremlEmitter,
  [q, key, value, past, sinks]: Operands<MilValue>,
  { scale, softcap, window, chunk, slopes }: AttentionCachedAttrs,
): MilValue => {
  const mixed = e.attention({
    query: e.op("transpose", { x: q, perm: [1, 0, 2] }),
    key,
    value,
    past,
    causal: true,
    scale,
    softcap,
    window: window === undefined ? undefined : window + 1,
    chunk,
    slopes,
    sinks,
  });
  return e.op("transpose", { x: mixed, perm: [1, 0, 2] });
};

export const attention_cached: Op<"attention_cached", AttentionCachedAttrs, Arity> = defineOp({
  name: "attention_cached",
  summary:
    "Causal attention of q [T, H, D] over caches [Hkv, capacity, D] that already hold the new tokens: token t sees keys 0 .. past + t, the last window + 1 of them where there is a window: it counts the keys before the token's own. In rings, position p lies in row p modulo the capacity, and a window or chunk keeps to what they still hold. With ALiBi's slopes, one for each head, scores lose slope · distance. Sinks [H] take part in the softmax and have no value.",
  arity: { least: 4, most: 5 },
  operands: ["query", "key cache", "value cache", "past", "sinks"],
  outputs: "one",
  attributes: ATTENTION_CACHED_ATTRS,
  infer: ([q, k, v, past, sinks], attrs) => {
    const [tokens, heads, size] = q.shape;
    const [kvHeads, capacity, keySize] = k.shape;
    const [, , valueSize = 0] = v.shape;
    dtypeAmong("floats", k.dtype, "attention_cached");
    const fits =
      q.shape.length === 3 &&
      k.shape.length === 3 &&
      v.shape.length === 3 &&
      keySize === size &&
      v.shape[0] === kvHeads &&
      v.shape[1] === capacity &&
      v.dtype === k.dtype;
    if (!fits || past.dtype !== "i32" || past.shape.length !== 0)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[attention_cached] got ${[q, k, v, past].map(formatType).join(", ")}; expected [T,H,D], [Hkv,capacity,D], [Hkv,capacity,Dv], i32[]`,
      );
    groupOf("attention_cached", heads, kvHeads);
    checkSlopes("attention_cached", heads, attrs);
    checkReach(attrs);
    if (sinks !== undefined && (sinks.dtype !== q.dtype || sinks.shape.length !== 1 || sinks.shape[0] !== heads))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[attention_cached] sinks: got ${formatType(sinks)}, expected ${q.dtype}[${heads ?? ""}], one for each head`,
      );
    return tensor(dtypeAmong("floats", q.dtype, "attention_cached"), [tokens ?? 0, heads ?? 0, valueSize]);
  },
  reference: ([q, k, v, past, sinks], attrs) => {
    const [tokens = 0, heads = 0] = q.shape;
    const [kvHeads = 0, capacity = 0, valueSize = 0] = v.shape;
    const rowOf = (key: number): number => (attrs.ring === true ? key % capacity : key);
    checkRows(at(past.data, 0), tokens, capacity, attrs);
    const out = new Float64Array(tokens * heads * valueSize);
    for (let t = 0; t < tokens; t++)
      for (let h = 0; h < heads; h++) {
        const position = at(past.data, 0) + t;
        const inWindow = attrs.window === undefined ? 0 : Math.max(0, position - attrs.window);
        const from = Math.max(inWindow, attrs.chunk === undefined ? 0 : position - (position % attrs.chunk));
        const rows = Array.from({ length: position - from + 1 }, (_, i) => rowOf(from + i));
        const operands = { q, k, v, row: t * heads + h, kv: Math.floor((h * kvHeads) / heads) };
        const slope = attrs.slopes?.[h] ?? 0;
        const bias = (_row: number, i: number): number => -slope * (position - from - i);
        attendRow(operands, rows, attrs, out, { bias, sink: sinks && at(sinks.data, h) });
      }
    return hostTensor(q.dtype, [tokens, heads, valueSize], out);
  },
  oracle: { jax: CACHED_JAX },
  gradient: decomposed(decompose),
  batching: eachItem("attention_cached"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("attention", {
      takes: [["f32"], ["f32", "f16"], ["f32", "f16"], ["i32"], ["f32"]],
      params: cpuAttentionParams,
    }),
    coreml: milNative(coremlAttention, ({ attrs }) =>
      attrs.ring === true
        ? "the masks of Core ML's attention count rows of a whole cache: rings are computed by parts"
        : true,
    ),
    mlx: { kind: "native", emit: mlxCachedAttention, when: mlxTakes },
  },
  samples: withDoubles([
    cached("one token", 1, [1, 2, 2, 5, 4, 3], { scale: 0.5 }),
    cached("grouped heads, symbolic", 4, ["T", 6, 2, 9, 3, 2], { scale: 0.6 }, { bindings: { T: 4 } }),
    cached("first tokens, odd sizes", 7, [3, 3, 1, 3, 5, 0], { scale: 0.4 }),
    cached("window", 10, [3, 2, 1, 8, 4, 4], { scale: 0.5, window: 2 }),
    cached("softcap", 13, [2, 2, 2, 6, 4, 3], { scale: 2, softcap: 1.5 }),
    sample("sinks, window", [...cached("", 20, [3, 4, 2, 8, 4, 4], { scale: 0.5 }).inputs, normal(23, [4])], {
      scale: 0.5,
      window: 2,
    }),
    sample(
      "sinks, one token, symbolic",
      [normal(24, ["T", 2, 4]), normal(25, [1, 5, 4]), normal(26, [1, 5, 4]), scalarInput(2), normal(27, [2])],
      { scale: 0.5, softcap: 2 },
      { bindings: { T: 1 } },
    ),
    sample(
      "sinks, more keys than the CPU engine takes at once",
      [normal(32, [1, 2, 2]), normal(33, [1, 1100, 2]), normal(34, [1, 1100, 2]), scalarInput(1080), normal(35, [2])],
      { scale: 0.5 },
      { differentiable: false },
    ),
    cached(
      "slopes, grouped heads, symbolic",
      40,
      ["T", 6, 2, 9, 3, 2],
      { scale: 0.6, slopes: alibiSlopes(6, 8) },
      { bindings: { T: 4 } },
    ),
    cached("slopes, one token, window", 43, [1, 2, 1, 9, 4, 7], { scale: 0.5, window: 4, slopes: [0.5, 0.0625] }),
    sample(
      "slopes and sinks, more keys than the CPU engine takes at once",
      [normal(46, [1, 2, 2]), normal(47, [1, 1100, 2]), normal(48, [1, 1100, 2]), scalarInput(1080), normal(49, [2])],
      { scale: 0.5, softcap: 3, slopes: [0.001, 0.0004] },
      { differentiable: false },
    ),
    sample("slopes, values of another size", [...normals(36, [5, 2, 4], [1, 8, 4], [1, 8, 3]), scalarInput(2)], {
      scale: 0.5,
      slopes: [0.25, 0.5],
    }),
    cached("chunk", 28, [5, 2, 1, 9, 4, 2], { scale: 0.5, chunk: 3 }),
    cached("one token, chunk", 31, [1, 2, 1, 9, 4, 7], { scale: 0.5, chunk: 4 }),
    cached("ring, one token far behind", 60, [1, 4, 2, 6, 4, 27], { scale: 0.5, window: 3, ring: true }),
    cached(
      "ring, around its end, symbolic",
      63,
      ["T", 4, 2, 9, 3, 14],
      { scale: 0.6, window: 5, ring: true },
      { bindings: { T: 4 } },
    ),
    cached("ring, not yet full, softcap", 66, [3, 2, 1, 7, 5, 1], { scale: 0.5, softcap: 2, window: 4, ring: true }),
    cached("ring, chunks", 69, [5, 2, 1, 9, 4, 16], { scale: 0.5, chunk: 4, ring: true }),
    sample("ring, sinks, slopes", [...cached("", 72, [6, 4, 2, 11, 4, 40], { scale: 0.5 }).inputs, normal(76, [4])], {
      scale: 0.5,
      window: 4,
      slopes: [0.5, 0.25, 0.125, 0.0625],
      ring: true,
    }),
    cached(
      "ring, more tokens than the CPU engine takes at once",
      77,
      [90, 2, 1, 133, 4, 1000],
      { scale: 0.5, window: 40, ring: true },
      { differentiable: false },
    ),
    sample(
      "half ring, values of another size, symbolic capacity",
      [
        normal(80, [2, 2, 4]),
        integers(81, [1, "capacity", 4], -2, 2, "f16"),
        integers(82, [1, "capacity", 3], -2, 2, "f16"),
        scalarInput(9),
      ],
      { scale: 0.5, window: 3, ring: true },
      { bindings: { capacity: 5 }, differentiable: false },
    ),
    sample(
      "half cache, values of another size",
      [
        normal(16, [2, 2, 4]),
        integers(17, [1, 5, 4], -2, 2, "f16"),
        integers(18, [1, 5, 3], -2, 2, "f16"),
        scalarInput(2),
      ],
      { scale: 0.5 },
      { differentiable: false },
    ),
  ]),
});
