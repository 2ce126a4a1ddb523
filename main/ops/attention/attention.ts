import type { MlxEmitter, MlxValue } from "../../backends/mlx/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { dtypeAmong, plainDType } from "../../ir/dtype.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, formatType, sameShape, tensor } from "../../ir/type.ts";
import type { InputsOf, NodeInfo, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { ScoreAttrs } from "../families/attention.ts";
import {
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
  mlxWithoutBlindRows,
  scaleScores,
  someRowsSeeNothing,
  visibleKeys,
} from "../families/attention.ts";
import { scalarLike, sizeValue } from "../families/constants.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at, broadcastData } from "../families/host.ts";
import { normals, sample, values, withDoubles } from "../families/samples.ts";
import { swapLast } from "../linalg/matmul.ts";
import type { OpBuilder } from "../opBuilder.ts";

export type MaskKind = "none" | "causal" | "sliding" | "symmetric" | "custom" | "bias";
export interface AttentionAttrs extends ScoreAttrs {
  /**
   * causal, sliding and symmetric are aligned at the bottom right; custom: bool [B, Sk], which symmetric
   * may have as well; bias: [B, H, Sq, Sk], added to the scores.
   */
  readonly mask: MaskKind;
  /** sliding: keys from the row's position - window on; symmetric: as many on either side. */
  readonly window?: number;
}

const MASK_CODE: { readonly [M in MaskKind]: number } = {
  none: 0,
  causal: 1,
  sliding: 2,
  custom: 3,
  bias: 4,
  symmetric: 5,
};

function inferAttention([q, k, v, mask]: InputsOf<Range<3, 4>, TensorType>, attrs: AttentionAttrs): TensorType {
  const [batch = 0, heads = 0, rows = 0, size] = q.shape;
  const [, kvHeads, keys = 0, keySize] = k.shape;
  const fits =
    [q, k, v].every((x) => x.shape.length === 4 && x.dtype === q.dtype && x.shape[0] === batch) &&
    keySize === size &&
    v.shape[1] === kvHeads &&
    v.shape[2] === keys;
  if (!fits)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[attention] got ${[q, k, v].map(formatType).join(", ")}; expected [B,H,Sq,D], [B,Hkv,Sk,D], [B,Hkv,Sk,Dv] of one dtype`,
    );
  groupOf("attention", heads, kvHeads);
  checkSlopes("attention", heads, attrs);
  const wantsMask = attrs.mask === "custom" || attrs.mask === "bias";
  const wantsWindow = attrs.mask === "sliding" || attrs.mask === "symmetric";
  const fitsMask = attrs.mask === "symmetric" || wantsMask === (mask !== undefined);
  if (!fitsMask || wantsWindow !== (attrs.window !== undefined))
    throw new WorkbenchError(
      "IR_STRUCTURE",
      `[attention] mask ${attrs.mask}: its operand or window is missing, or one too many`,
    );
  const full = [batch, heads, rows, keys];
  if (mask && attrs.mask !== "bias" && !(mask.dtype === "bool" && sameShape(mask.shape, [batch, keys])))
    throw new WorkbenchError("IR_SHAPE", `[attention] mask: got ${formatType(mask)}, expected bool[${batch},${keys}]`);
  if (
    mask &&
    attrs.mask === "bias" &&
    !(mask.dtype === q.dtype && sameShape(broadcastShapes(mask.shape, full, "attention"), full))
  )
    throw new WorkbenchError(
      "IR_SHAPE",
      `[attention] bias: got ${formatType(mask)}, expected ${q.dtype}[${full.join(",")}]`,
    );
  return tensor(dtypeAmong("floats", q.dtype, "attention"), [batch, heads, rows, v.shape[3] ?? 0]);
}

function reference([q, k, v, mask]: InputsOf<Range<3, 4>, HostTensor>, attrs: AttentionAttrs): HostTensor {
  const [batch = 0, heads = 0, rows = 0] = q.shape;
  const [, kvHeads = 0, keys = 0, valueSize = 0] = v.shape;
  const out = new Float64Array(batch * heads * rows * valueSize);
  const bias = mask && attrs.mask === "bias" ? broadcastData(mask, [batch, heads, rows, keys]) : undefined;
  const all = Array.from({ length: keys }, (_, i) => i);
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let r = 0; r < rows; r++) {
        const position = r + keys - rows;
        const seen = all.filter((key) => {
          if (mask && attrs.mask !== "bias" && at(mask.data, b * keys + key) === 0) return false;
          if (attrs.mask === "symmetric") return Math.abs(key - position) <= (attrs.window ?? 0);
          if (attrs.mask === "causal") return key <= position;
          return attrs.mask !== "sliding" || (key <= position && key >= position - (attrs.window ?? 0));
        });
        const row = (b * heads + h) * rows + r;
        const kv = b * kvHeads + Math.floor((h * kvHeads) / heads);
        const slope = attrs.slopes?.[h] ?? 0;
        attendRow({ q, k, v, row, kv }, seen, attrs, out, {
          bias: (key) => (bias ? at(bias, row * keys + key) : 0) - slope * Math.abs(key - position),
        });
      }
  return hostTensor(q.dtype, [batch, heads, rows, valueSize], out);
}

/** Positions of the rows [Sq, 1], aligned at the bottom right, and of the keys [Sk]. */
function positionsOf(g: OpBuilder, rows: Dim, keys: Dim): readonly [Value, Value] {
  const offset = g.sub([sizeValue(g, [keys], "i32"), sizeValue(g, [rows], "i32")]);
  return [g.add([g.iota([], { shape: [rows, 1], axis: 0 }), offset]), g.iota([], { shape: [keys], axis: 0 })];
}

/** Which keys each row sees, to be spread over scores [B, Hkv, G, Sq, Sk]; undefined for all of them. */
function visibleTo(
  g: OpBuilder,
  mask: Value | undefined,
  [batch, rows, keys]: readonly [Dim, Dim, Dim],
  attrs: AttentionAttrs,
): Value | undefined {
  const kept =
    mask === undefined || attrs.mask === "bias" ? undefined : g.reshape([mask], { shape: [batch, 1, 1, 1, keys] });
  if (attrs.mask === "symmetric") {
    const [position, places] = positionsOf(g, rows, keys);
    const distance = g.abs([g.sub([places, position])]);
    const near = g.compare([distance, g.constant(hostScalar("i32", attrs.window ?? 0))], { op: "le" });
    return kept === undefined ? near : g.logical_and([kept, near]);
  }
  if (attrs.mask !== "causal" && attrs.mask !== "sliding") return kept;
  return visibleKeys(g, ...positionsOf(g, rows, keys), attrs.window);
}

/** A mask of keys may hide all of a batch; other masks hide all keys from rows before the first key. */
const mayBeBlind = (mask: MaskKind, isGiven: boolean, rows: Dim, keys: Dim): boolean =>
  mask === "custom" || (mask === "symmetric" && isGiven) || someRowsSeeNothing(rows, keys);

function decompose(g: OpBuilder, [q, k, v, mask]: InputsOf<Range<3, 4>, Value>, attrs: AttentionAttrs): Value {
  const [batch = 0, heads = 0, rows = 0, size = 0] = g.typeOf(q).shape;
  const [, kvHeads = 0, keys = 0, valueSize = 0] = g.typeOf(v).shape;
  const group = groupOf("attention", heads, kvHeads);
  // The heads of a group share their keys: they become rows of one product.
  const grouped = g.reshape([q], { shape: [batch, kvHeads, group, rows, size] });
  const columns = g.reshape([swapLast(g, k)], { shape: [batch, kvHeads, 1, size, keys] });
  const capped = scaleScores(g, g.matmul([grouped, columns]), attrs);
  let scores =
    attrs.slopes === undefined ? capped : fallWithDistance(g, capped, positionsOf(g, rows, keys), attrs.slopes);
  if (mask !== undefined && attrs.mask === "bias") {
    const full = g.expand([mask], { shape: [batch, heads, rows, keys] });
    scores = g.add([scores, g.reshape([full], { shape: [batch, kvHeads, group, rows, keys] })]);
  }
  const visible = visibleTo(g, mask, [batch, rows, keys], attrs);
  const shares = g.softmax([visible === undefined ? scores : hideScores(g, scores, visible)], { axis: 4 });
  const weights =
    visible !== undefined && mayBeBlind(attrs.mask, mask !== undefined, rows, keys)
      ? g.where([visible, shares, scalarLike(g, shares, 0)])
      : shares;
  const mixed = g.matmul([weights, g.reshape([v], { shape: [batch, kvHeads, 1, keys, valueSize] })]);
  return g.reshape([mixed], { shape: [batch, heads, rows, valueSize] });
}

/**
 * Which keys each row sees, unless a mode of MLX says it: it has none beside a bias, and with more rows than keys MLX
 * aligns its causal mask at the top left, not as here.
 */
function mlxVisible(
  e: MlxEmitter,
  mask: MlxValue | undefined,
  [batch, rows, keys]: readonly [Dim, Dim, Dim],
  attrs: AttentionAttrs,
): MlxValue | undefined {
  const kept = mask && attrs.mask !== "bias" ? mlxShaped(e, mask, [batch, 1, 1, keys]) : undefined;
  const causal = attrs.mask === "causal" && (attrs.slopes !== undefined || someRowsSeeNothing(rows, keys));
  const symmetric = attrs.mask === "symmetric";
  if (!causal && !symmetric && attrs.mask !== "sliding") return kept;
  const near = e.one("window_mask", [], tensor("bool", [rows, keys]), { window: attrs.window ?? -1, symmetric });
  return kept ? e.one("logical_and", [kept, near], tensor("bool", [batch, 1, rows, keys])) : near;
}

const mlxAttention = (
  e: MlxEmitter,
  [q, k, v, mask]: InputsOf<Range<3, 4>, MlxValue>,
  attrs: AttentionAttrs,
  node: NodeInfo<AttentionAttrs>,
): readonly MlxValue[] => {
  const [batch = 0, heads = 0, rows = 0] = q.type.shape;
  const dtype = plainDType(q.type.dtype, "attention");
  const keys = k.type.shape[2] ?? 0;
  const visible = mlxVisible(e, mask, [batch, rows, keys], attrs);
  const hidden = visible === undefined ? mask : mlxAdditive(e, visible, dtype);
  const added =
    attrs.slopes === undefined
      ? hidden
      : mlxSum(e, hidden, mlxFall(e, [], [dtype, heads, rows, keys], { slopes: attrs.slopes }));
  const mode = attrs.mask === "causal" && visible === undefined ? { mode: { word: "causal" } } : {};
  const operands = [q, k, v, ...(added === undefined ? [] : [added])];
  const mixed = e.call("attention", operands, node.outputs, { scale: attrs.scale, ...mode });
  const blind = visible !== undefined && mayBeBlind(attrs.mask, mask !== undefined, rows, keys);
  return blind ? mixed.map((value) => mlxWithoutBlindRows(e, value, visible)) : mixed;
};

/** A mask of numbers and ALiBi's [H, Sq, Sk]; one of them alone where there is no mask. */
const mlxSum = (e: MlxEmitter, mask: MlxValue | undefined, fall: MlxValue): MlxValue =>
  mask === undefined
    ? fall
    : e.one(
        "add",
        [mask, fall],
        tensor(fall.type.dtype, broadcastShapes(mask.type.shape, fall.type.shape, "attention")),
      );

/** A bias that the CPU kernel reads: of the full size, where batches or heads may share one. */
const fitsKernel = (mask: Shape, full: Shape): boolean =>
  mask.length === 4 &&
  sameShape(mask.slice(2), full.slice(2)) &&
  [0, 1].every((axis) => mask[axis] === 1 || mask[axis] === full[axis]);

export const attention: Op<"attention", AttentionAttrs, Range<3, 4>> = defineOp({
  name: "attention",
  summary:
    "softmax(softcap(scale · q kᵀ) - slope · distance + mask) v with grouped key heads: q [B,H,Sq,D], k [B,Hkv,Sk,D], v [B,Hkv,Sk,Dv]. A sliding window counts the keys before the row's own: w + 1 are seen; a symmetric one as many behind it: 2w + 1. ALiBi's slopes are one for each head. A row whose mask hides every key gives zeros; a bias of -∞ hides none, and a row of nothing else is NaN.",
  arity: { least: 3, most: 4 },
  operands: ["query", "key", "value", "mask"],
  outputs: "one",
  attributes: {
    scale: attr.float(),
    softcap: attr.optional(attr.float()),
    mask: attr.oneOf(["none", "causal", "sliding", "symmetric", "custom", "bias"]),
    window: attr.optional(attr.int(0)),
    slopes: attr.optional(attr.floats()),
  },
  infer: inferAttention,
  reference,
  oracle: {
    jax: jaxAttention(
      `
n, m = x0.shape[2], x1.shape[2]
i, j = np.arange(n)[:, None] + m - n, np.arange(m)[None]
given = x3[:, None, None, :] if len(xs) > 3 and a["mask"] != "bias" else j == j
keep = given & {"causal": j <= i, "sliding": (j <= i) & (j >= i - a.get("window", 0)), "symmetric": abs(i - j) <= a.get("window", 0)}.get(a["mask"], j == j)
attend(x0, x1, x2, keep, x3 if a["mask"] == "bias" else 0.0, None, i - j)
`.trim(),
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("attention_general", {
      takes: [["f32"], ["f32"], ["f32"], ["f32", "bool"]],
      params: ({ scale, softcap, mask, window, slopes }) => ({
        scale,
        softcap: softcap ?? 0,
        mask: MASK_CODE[mask],
        window: window === undefined ? 0 : window + 1,
        ...(slopes && { slopes }),
      }),
      when: ({ attrs, inputs: [, , , mask], outputs: [out], inputs: [, k] }) =>
        attrs.mask !== "bias" ||
        (mask && out && k && fitsKernel(mask.shape, [...out.shape.slice(0, 3), k.shape[2] ?? 0]))
          ? true
          : "the CPU kernel takes a bias [B,H,Sq,Sk], or one for all batches or heads: expand it first",
    }),
    coreml: decomposed(decompose),
    mlx: { kind: "native", emit: mlxAttention, when: mlxTakesAttention },
  },
  samples: withDoubles([
    sample("no mask, odd sizes", normals(1, [1, 3, 5, 4], [1, 3, 7, 4], [1, 3, 7, 2]), {
      scale: 0.5,
      mask: "none",
    }),
    sample(
      "causal with more keys, grouped, symbolic",
      normals(4, [2, 4, "T", 3], [2, 2, "T+2", 3], [2, 2, "T+2", 3]),
      { scale: 0.6, mask: "causal" },
      { bindings: { T: 3 } },
    ),
    sample("sliding", normals(7, [1, 2, 4, 3], [1, 1, 6, 3], [1, 1, 6, 3]), {
      scale: 0.5,
      mask: "sliding",
      window: 1,
    }),
    sample(
      "custom mask",
      [...normals(10, [2, 2, 3, 4], [2, 2, 4, 4], [2, 2, 4, 4]), values([1, 0, 1, 1, 1, 1, 0, 0], [2, 4], "bool")],
      { scale: 0.5, mask: "custom" },
    ),
    sample(
      "custom mask that hides all keys of one batch",
      [...normals(25, [2, 2, 3, 4], [2, 1, 4, 4], [2, 1, 4, 4]), values([0, 0, 0, 0, 0, 1, 1, 0], [2, 4], "bool")],
      { scale: 0.5, mask: "custom" },
    ),
    sample("causal with more rows than keys", normals(28, [1, 2, 5, 4], [1, 2, 3, 4], [1, 2, 3, 4]), {
      scale: 0.5,
      mask: "causal",
    }),
    sample(
      "sliding with more rows than keys, symbolic",
      normals(31, [1, 2, "T", 4], [1, 1, 2, 4], [1, 1, 2, 4]),
      { scale: 0.5, mask: "sliding", window: 1 },
      { bindings: { T: 5 } },
    ),
    sample("bias that all heads share", normals(40, [2, 4, 3, 4], [2, 2, 5, 4], [2, 2, 5, 4], [2, 1, 3, 5]), {
      scale: 0.5,
      mask: "bias",
    }),
    sample("bias that all batches share", normals(44, [2, 2, 3, 4], [2, 2, 5, 4], [2, 2, 5, 4], [1, 2, 3, 5]), {
      scale: 0.5,
      mask: "bias",
    }),
    sample("bias, grouped heads", normals(17, [2, 4, 3, 4], [2, 2, 5, 4], [2, 2, 5, 4], [2, 4, 3, 5]), {
      scale: 0.5,
      mask: "bias",
    }),
    sample(
      "sliding, batches, grouped, symbolic",
      normals(21, [2, 4, "T", 3], [2, 2, "T+3", 3], [2, 2, "T+3", 3]),
      { scale: 0.6, mask: "sliding", window: 2 },
      { bindings: { T: 4 } },
    ),
    sample(
      "symmetric window, grouped, symbolic",
      normals(50, [2, 4, "T", 3], [2, 2, "T", 3], [2, 2, "T", 3]),
      { scale: 0.6, mask: "symmetric", window: 2 },
      { bindings: { T: 7 } },
    ),
    sample(
      "symmetric window over keys of which some are hidden",
      [
        ...normals(53, [2, 1, 5, 4], [2, 1, 5, 4], [2, 1, 5, 2]),
        values([1, 1, 1, 0, 0, 1, 0, 0, 0, 0], [2, 5], "bool"),
      ],
      { scale: 0.5, mask: "symmetric", window: 1 },
    ),
    sample("symmetric window, more rows than keys", normals(56, [1, 2, 6, 4], [1, 2, 3, 4], [1, 2, 3, 4]), {
      scale: 0.5,
      mask: "symmetric",
      window: 1,
    }),
    sample(
      "slopes, causal, symbolic",
      normals(59, [1, 4, "T", 4], [1, 2, "T+3", 4], [1, 2, "T+3", 4]),
      { scale: 0.5, mask: "causal", slopes: [0.5, 0.25, 0.125, 0.0625] },
      { bindings: { T: 4 } },
    ),
    sample(
      "slopes both ways over keys of which some are hidden",
      [...normals(62, [1, 3, 5, 4], [1, 3, 5, 4], [1, 3, 5, 4]), values([1, 1, 1, 1, 0], [1, 5], "bool")],
      { scale: 0.5, mask: "custom", slopes: [0.25, 0.0625, 0.5] },
    ),
    sample("slopes beside a bias and a softcap", normals(66, [1, 2, 3, 4], [1, 1, 4, 4], [1, 1, 4, 4], [1, 1, 3, 4]), {
      scale: 1,
      softcap: 2,
      mask: "bias",
      slopes: [0.5, 0.125],
    }),
    sample("slopes, no mask, more rows than keys", normals(70, [1, 2, 5, 4], [1, 2, 3, 4], [1, 2, 3, 3]), {
      scale: 0.5,
      mask: "none",
      slopes: [0.5, 0.125],
    }),
    sample("bias and softcap", normals(13, [1, 2, 3, 4], [1, 2, 5, 4], [1, 2, 5, 4], [1, 2, 3, 5]), {
      scale: 1,
      softcap: 2,
      mask: "bias",
    }),
  ]),
});
