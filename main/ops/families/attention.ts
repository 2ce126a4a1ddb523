/** Softmax attention of one query row, and the parts that the two attention ops share. */
import type { MlxEmitter, MlxValue } from "../../backends/mlx/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { dimTerms, subDims } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { NodeInfo } from "../defineOp.ts";
import { softmaxLine } from "../reduce/softmax.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { maskedScore, scalarLike } from "./constants.ts";
import { at } from "./host.ts";
import { lines } from "./oracle.ts";

export interface ScoreAttrs {
  /** Multiplies q·k. */
  readonly scale: number;
  /** c · tanh(s / c) on the scaled scores, before the mask. */
  readonly softcap?: number;
  /** ALiBi: one for each head; a score loses slope · |key - position|, after the cap. */
  readonly slopes?: readonly number[];
}

/**
 * ALiBi's slopes (Press et al., 2022): 2^(-most / n), its square, its cube … where the heads are a power of two n; with more
 * heads, the others take every second power of its root.
 */
export function alibiSlopes(heads: number, most: number): readonly number[] {
  const whole = 2 ** Math.floor(Math.log2(heads));
  const [even, odd] = [2 ** (-most / whole), 2 ** (-most / 2 / whole)];
  return Array.from({ length: heads }, (_, h) =>
    Math.fround(h < whole ? even ** (h + 1) : odd ** (2 * (h - whole) + 1)),
  );
}

/** One slope for each head, or none at all. */
export function checkSlopes(op: string, heads: Dim | undefined, { slopes }: ScoreAttrs): void {
  if (slopes !== undefined && slopes.length !== heads)
    throw new WorkbenchError(
      "IR_ATTRIBUTE",
      `[${op}] slopes: got ${slopes.length}, expected one for each of ${heads ?? "no"} heads`,
    );
}

/** Query heads per key head. */
export function groupOf(op: string, heads: Dim | undefined, kvHeads: Dim | undefined): number {
  if (typeof heads !== "number" || typeof kvHeads !== "number" || kvHeads < 1 || heads % kvHeads !== 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] heads: got ${heads ?? "none"} over ${kvHeads ?? "none"} key heads, expected a multiple`,
    );
  return heads / kvHeads;
}

/** The tensors, which row of the queries it is, and which matrix of the keys and values belongs to it. */
export interface RowOperands {
  readonly q: HostTensor;
  readonly k: HostTensor;
  readonly v: HostTensor;
  readonly row: number;
  readonly kv: number;
}

export interface RowExtras {
  /** Added to the score of a key, which is the i-th of those that are seen. */
  readonly bias?: (key: number, i: number) => number;
  /** A score that takes part in the softmax and has no value. */
  readonly sink?: number | undefined;
}

/** softmax over the visible keys of softcap(scale q·k + bias), times the values; added into the row of `out`. */
export function attendRow(
  { q, k, v, row, kv }: RowOperands,
  keys: readonly number[],
  { scale, softcap }: ScoreAttrs,
  out: Float64Array,
  { bias = () => 0, sink }: RowExtras = {},
): void {
  const [capacity, size, valueSize] = [k.shape.at(-2) ?? 0, k.shape.at(-1) ?? 0, v.shape.at(-1) ?? 0];
  const scores = Float64Array.from(keys, (key, i) => {
    let dot = 0;
    const keyAt = (kv * capacity + key) * size;
    for (let d = 0; d < size; d++) dot += at(q.data, row * size + d) * at(k.data, keyAt + d);
    const scaled = dot * scale;
    return (softcap === undefined ? scaled : softcap * Math.tanh(scaled / softcap)) + bias(key, i);
  });
  const shares = sink === undefined ? scores : Float64Array.of(...scores, sink);
  softmaxLine(shares, 0, 1, shares.length);
  const outAt = row * valueSize;
  for (const [i, key] of keys.entries())
    for (let d = 0; d < valueSize; d++)
      out[outAt + d] = at(out, outAt + d) + at(shares, i) * at(v.data, (kv * capacity + key) * valueSize + d);
}

/** Scaled and capped scores. */
export function scaleScores(g: OpBuilder, scores: Value, { scale, softcap }: ScoreAttrs): Value {
  const scaled = g.mul([scores, scalarLike(g, scores, scale)]);
  if (softcap === undefined) return scaled;
  const cap = scalarLike(g, scores, softcap);
  return g.mul([g.tanh([g.div([scaled, cap])]), cap]);
}

/** Scores [.., heads of a group, rows, keys] less slope · distance; `position` [rows, 1] and `places` [keys] are i32. */
export function fallWithDistance(
  g: OpBuilder,
  scores: Value,
  [position, places]: readonly [Value, Value],
  slopes: readonly number[] | undefined,
): Value {
  if (slopes === undefined) return scores;
  const { dtype: own, shape } = g.typeOf(scores);
  const dtype = plainDType(own, "attention");
  const [kvHeads = 1, group = 1] = shape.slice(-4);
  const each = g.constant(hostTensor(dtype, [Number(kvHeads), Number(group), 1, 1], Float64Array.from(slopes)));
  const distance = g.cast([g.abs([g.sub([places, position])])], { to: dtype });
  return g.sub([scores, g.mul([each, distance])]);
}

/** Scores where `visible`, very low ones elsewhere. */
export const hideScores = (g: OpBuilder, scores: Value, visible: Value): Value =>
  g.where([visible, scores, scalarLike(g, scores, maskedScore(plainDType(g.typeOf(scores).dtype, "attention")))]);

/** True if the first of `rows`, aligned at the bottom right, can come before the first key. */
export const someRowsSeeNothing = (rows: Dim, keys: Dim): boolean =>
  dimTerms(subDims(keys, rows)).some(({ coefficient }) => coefficient < 0);

/** Keys from `row - window` to `row`: rows [.., 1] and keys [..] of positions. Without a window, all up to the row. */
export function visibleKeys(g: OpBuilder, rows: Value, keys: Value, window: number | undefined): Value {
  const upTo = g.compare([keys, rows], { op: "le" });
  if (window === undefined) return upTo;
  const first = g.sub([rows, scalarLike(g, rows, window)]);
  const from = g.compare([keys, first], { op: "ge" });
  return g.where([from, upTo, g.constant(hostScalar("bool", 0))]);
}

/** MLX: its own attention has neither a soft-cap nor float64. */
export function mlxTakesAttention({ inputs: [q], attrs }: NodeInfo<ScoreAttrs>): true | string {
  if (attrs.softcap !== undefined) return "MLX's attention has no soft-cap on the scores";
  return q?.dtype === "f64" ? "MLX's attention computes in float32, these operands are f64" : true;
}

/** A mask of truth values as numbers that MLX's attention adds to scores of this type. */
export const mlxAdditive = (e: MlxEmitter, mask: MlxValue, dtype: DType): MlxValue =>
  e.one("additive_mask", [mask], tensor(dtype, mask.type.shape));

/** Zeros for rows that see no key; MLX's attention gives them the mean of all values. */
export function mlxWithoutBlindRows(e: MlxEmitter, mixed: MlxValue, visible: MlxValue): MlxValue {
  const { dtype } = mixed.type;
  const axis = visible.type.shape.length - 1;
  const ones = e.one("cast", [visible], tensor(dtype, visible.type.shape));
  const any = e.one("max", [ones], tensor(dtype, [...visible.type.shape.slice(0, axis), 1]), { axes: [axis] });
  return e.one("multiply", [mixed, any], mixed.type);
}

/** What ALiBi adds to scores [heads, rows, keys], aligned at the bottom right or behind `past`, there perhaps over a ring. */
export const mlxFall = (
  e: MlxEmitter,
  past: readonly MlxValue[],
  [dtype, ...shape]: readonly [DType, Dim, Dim, Dim],
  attrs: { readonly slopes: readonly number[]; readonly ring?: boolean },
): MlxValue => e.one("distance_bias", past, tensor(dtype, shape), attrs);

/** The value under another shape. */
export const mlxShaped = (e: MlxEmitter, x: MlxValue, shape: Shape): MlxValue =>
  e.one("reshape", [x], tensor(x.type.dtype, shape));

/**
 * softmax(softcap(scale q kᵀ) + bias) v by JAX, key heads repeated; the mask is given as booleans or as a bias. Compiled as one:
 * by itself JAX compiles each of its twenty operations for each new shape.
 */
export const jaxAttention = (mask: string): string =>
  lines(
    `
@jax.jit
def attend(q, k, v, keep, bias, sinks=None, away=0):
    g = q.shape[1] // k.shape[1]
    s = a["scale"] * jnp.einsum("bhqd,bhkd->bhqk", q, jnp.repeat(k, g, 1))
    s = a["softcap"] * jnp.tanh(s / a["softcap"]) if "softcap" in a else s
    s = s - jnp.array(a["slopes"])[:, None, None] * jnp.abs(away) if "slopes" in a else s
    if sinks is None:
        p = jax.nn.softmax(s + bias, -1, where=keep)
    else:
        sink = jnp.broadcast_to(sinks[None, :, None, None], (*s.shape[:3], 1))
        both = jnp.concatenate([jnp.where(keep, s + bias, -jnp.inf), sink], -1)
        p = jax.nn.softmax(both, -1)[..., :-1]
    return jnp.einsum("bhqk,bhkd->bhqd", p, jnp.repeat(v, g, 1))
`.trim(),
    mask,
  );
