import { milModWhole, milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import { attr } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { roundToFloat } from "../../quant/half.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { filledLike, sizeValue } from "../families/constants.ts";
import { castTo } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { normal, sample, scalarInput, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface AppendAttrs {
  /** Position p lies in row p modulo the capacity: the newest rows replace the oldest, and the cache is never full. */
  readonly ring?: boolean;
}

/** cache [heads, capacity, size], fresh [T, heads, size], past i32[]. */
export function inferAppend(
  op: string,
  [cache, fresh, past]: readonly [TensorType, TensorType, TensorType],
): TensorType {
  const [heads, , size] = cache.shape;
  const fits =
    cache.shape.length === 3 && fresh.shape.length === 3 && fresh.shape[1] === heads && fresh.shape[2] === size;
  if (!fits || !isFloat(cache.dtype) || !isFloat(fresh.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] got cache ${formatType(cache)} and ${formatType(fresh)}, expected [heads, capacity, size] and [T, heads, size] of floats`,
    );
  if (past.dtype !== "i32" || past.shape.length !== 0)
    throw new WorkbenchError("IR_TYPE", `[${op}] past: got ${formatType(past)}, expected i32[]`);
  return tensor(cache.dtype, cache.shape);
}

/** The rows of a cache that new positions are written to; throws where there is no room for them. */
export function appendedRows(
  op: string,
  [past, tokens, capacity]: readonly [number, number, number],
  { ring = false }: AppendAttrs,
): readonly number[] {
  if (past < 0 || (ring ? 0 : past) + tokens > capacity)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[${op}] got ${past} + ${tokens} positions, expected ${ring ? "steps of " : ""}at most ${capacity}`,
    );
  return Array.from({ length: tokens }, (_, t) => (ring ? (past + t) % capacity : past + t));
}

/** The cache after: the rows of the positions past .. past + T replaced in every head, rounded to the cache's dtype. */
export function appendRows(cache: HostTensor, fresh: HostTensor, past: number, attrs: AppendAttrs): HostTensor {
  const [heads = 0, capacity = 0, size = 0] = cache.shape;
  const rows = appendedRows("kv_append", [past, fresh.shape[0] ?? 0, capacity], attrs);
  const out = cache.data.slice();
  for (const [t, row] of rows.entries())
    for (let h = 0; h < heads; h++)
      for (let d = 0; d < size; d++)
        out[(h * capacity + row) * size + d] = narrowed(at(fresh.data, (t * heads + h) * size + d), cache.dtype);
  return hostTensor(cache.dtype, cache.shape, out);
}

const narrowed = (x: number, dtype: DType): number =>
  dtype === "f16" || dtype === "bf16" ? roundToFloat(x, dtype) : x;

/** By NumPy: rows written into a copy, `fresh` of them. */
export const appendNumpy = (fresh: string): string =>
  `
def append(cache, new, past):
    out = cache.copy()
    at = past + np.arange(new.shape[0])
    out[:, at % cache.shape[1] if a.get("ring") else at] = np.swapaxes(${fresh}, 0, 1)
    return out
`.trim();

/** The rows of new positions: past .. past + T, as they lie in the cache. */
function rowsOf(g: OpBuilder, tokens: Dim, past: Value, capacity: Dim, { ring }: AppendAttrs): Value {
  const places = g.add([g.iota([], { shape: [tokens], axis: 0 }), past]);
  return ring === true ? g.mod([places, sizeValue(g, [capacity], "i32")]) : places;
}

/** Each row of a ring is the new one that falls there, or what it was: a slice could not go around the end. */
function milRing(e: CoremlEmitter, cache: MilValue, fresh: MilValue, past: MilValue): MilValue {
  const [capacity = 0, count = 0] = [e.sizes(cache, "kv_append")[1], e.sizes(fresh, "kv_append")[1]];
  const size = e.constant("int32", [], [capacity]);
  const ahead = Array.from({ length: capacity }, (_, row) => row + capacity);
  const places = e.constant("int32", [capacity], ahead);
  const away = milModWhole(e, e.op("sub", { x: places, y: milModWhole(e, past, size) }), size);
  const isNew = e.op("less", { x: away, y: count });
  const taken = e.op("gather", { x: fresh, indices: e.op("minimum", { x: away, y: count - 1 }), axis: 1 });
  const cond = e.op("reshape", { x: isNew, shape: [1, capacity, 1] });
  return e.op("select", { cond, a: taken, b: cache });
}

export const kv_append: Op<"kv_append", AppendAttrs, 3> = defineOp({
  name: "kv_append",
  summary:
    "Writes new rows [T, heads, size] into a cache [heads, capacity, size] from position `past` on; gives the cache after. In a ring, position p lies in row p modulo the capacity, and the newest rows replace the oldest.",
  arity: 3,
  operands: ["cache", "new rows", "past"],
  outputs: "one",
  results: ["cache"],
  attributes: { ring: attr.optional(attr.bool()) },
  infer: (inputs) => inferAppend("kv_append", inputs),
  reference: ([cache, fresh, past], attrs) => appendRows(cache, fresh, at(past.data, 0), attrs),
  oracle: { numpy: lines(appendNumpy("new"), "append(x0, x1, int(x2))") },
  // The rows that were overwritten get nothing; the new rows get what stands in their place.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [cache, fresh, past], attrs }) => {
      const { dtype, shape } = g.typeOf(fresh);
      const rows = rowsOf(g, shape[0] ?? 0, past, g.typeOf(cache).shape[1] ?? 0, attrs);
      const taken = g.transpose([g.gather([ct, rows], { axis: 1 })], { perm: [1, 0, 2] });
      const dfresh = g.typeOf(cache).dtype === dtype ? taken : g.cast([taken], { to: plainDType(dtype, "kv_append") });
      return [g.kv_append([ct, filledLike(g, fresh, 0), past], attrs), dfresh, undefined];
    },
  },
  batching: eachItem("kv_append"),
  traits: ["pure"],
  moves: "appends",
  backends: {
    cpu: {
      kind: "native",
      // The kernel rounds f32 to a cache of f16 itself, and moves rows of the cache's own type.
      emit: (e, [cache, fresh, past], { ring = false }, node) => {
        const { dtype } = cache.type;
        const rounds = dtype === "f16" && fresh.type.dtype === "f32";
        const rows = rounds ? fresh : castTo(e, fresh, plainDType(dtype, "kv_append"));
        return e.instr("kv_append", [cache, rows, past], node.outputs, ring ? { ring } : {});
      },
    },
    coreml: milNative((e, [cache, fresh, past], { ring = false }) => {
      const rows = e.op("transpose", { x: fresh, perm: [1, 0, 2] });
      return ring ? milRing(e, cache, rows, past) : e.appendToCache(cache, rows, past);
    }),
    mlx: { kind: "native", emit: (e, [cache, fresh, past], { ring = false }) => e.append(cache, fresh, past, ring) },
  },
  samples: withDoubles([
    sample("one token", [normal(1, [2, 5, 3]), normal(2, [1, 2, 3]), scalarInput(3)], {}),
    sample(
      "several, symbolic",
      [normal(3, [3, 7, 2]), normal(4, ["T", 3, 2]), scalarInput(2)],
      {},
      { bindings: { T: 4 } },
    ),
    sample(
      "empty cache, symbolic capacity",
      [normal(5, [1, "capacity", 4]), normal(6, [3, 1, 4]), scalarInput(0)],
      {},
      { bindings: { capacity: 3 } },
    ),
    sample("ring, one token far behind", [normal(9, [2, 5, 3]), normal(10, [1, 2, 3]), scalarInput(33)], {
      ring: true,
    }),
    sample(
      "ring, around its end, symbolic",
      [normal(11, [3, 7, 2]), normal(12, ["T", 3, 2]), scalarInput(19)],
      { ring: true },
      { bindings: { T: 4 } },
    ),
    sample(
      "ring, as many rows as it has, symbolic capacity",
      [normal(13, [1, "capacity", 4]), normal(14, [3, 1, 4]), scalarInput(4)],
      { ring: true },
      { bindings: { capacity: 3 } },
    ),
    sample(
      "half ring, not yet full",
      [
        { type: { dtype: "f16", shape: [1, 4, 3] }, fill: { kind: "integers", seed: 15, low: -4, high: 4 } },
        normal(16, [2, 1, 3]),
        scalarInput(1),
      ],
      { ring: true },
      { differentiable: false },
    ),
    sample(
      "half cache",
      [
        { type: { dtype: "f16", shape: [1, 4, 3] }, fill: { kind: "integers", seed: 7, low: -4, high: 4 } },
        normal(8, [2, 1, 3]),
        scalarInput(1),
      ],
      {},
      { differentiable: false },
    ),
  ]),
});
