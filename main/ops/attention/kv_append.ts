import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { roundToFloat } from "../../quant/half.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { filledLike } from "../families/constants.ts";
import { castTo } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { normal, sample, scalarInput, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

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

/** The cache after: rows past .. past + T of every head replaced, rounded to the cache's dtype. */
export function appendRows(cache: HostTensor, fresh: HostTensor, past: number): HostTensor {
  const [heads = 0, capacity = 0, size = 0] = cache.shape;
  const tokens = fresh.shape[0] ?? 0;
  if (past < 0 || past + tokens > capacity)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[kv_append] got ${past} + ${tokens} positions, expected at most ${capacity}`,
    );
  const out = cache.data.slice();
  for (let t = 0; t < tokens; t++)
    for (let h = 0; h < heads; h++)
      for (let d = 0; d < size; d++)
        out[(h * capacity + past + t) * size + d] = narrowed(at(fresh.data, (t * heads + h) * size + d), cache.dtype);
  return hostTensor(cache.dtype, cache.shape, out);
}

const narrowed = (x: number, dtype: DType): number =>
  dtype === "f16" || dtype === "bf16" ? roundToFloat(x, dtype) : x;

/** By NumPy: rows written into a copy. */
export const APPEND = `
def append(cache, new, past):
    out = cache.copy()
    out[:, past : past + new.shape[0]] = np.swapaxes(new, 0, 1)
    return out
`.trim();

export const kv_append: Op<"kv_append", NoAttrs, 3> = defineOp({
  name: "kv_append",
  summary:
    "Writes new rows [T, heads, size] into a cache [heads, capacity, size] from position `past` on; gives the cache after.",
  arity: 3,
  operands: ["cache", "new rows", "past"],
  outputs: "one",
  results: ["cache"],
  attributes: {},
  infer: (inputs) => inferAppend("kv_append", inputs),
  reference: ([cache, fresh, past]) => appendRows(cache, fresh, at(past.data, 0)),
  oracle: { numpy: lines(APPEND, "append(x0, x1, int(x2))") },
  // The rows that were overwritten get nothing; the new rows get what stands in their place.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [cache, fresh, past] }) => {
      const { dtype, shape } = g.typeOf(fresh);
      const rows = g.add([g.iota([], { shape: [shape[0] ?? 0], axis: 0 }), past]);
      const taken = g.transpose([g.gather([ct, rows], { axis: 1 })], { perm: [1, 0, 2] });
      const dfresh = g.typeOf(cache).dtype === dtype ? taken : g.cast([taken], { to: plainDType(dtype, "kv_append") });
      return [g.kv_append([ct, filledLike(g, fresh, 0), past]), dfresh, undefined];
    },
  },
  batching: eachItem("kv_append"),
  traits: ["pure"],
  moves: "appends",
  backends: {
    cpu: {
      kind: "native",
      // The kernel rounds f32 to a cache of f16 itself, and moves rows of the cache's own type.
      emit: (e, [cache, fresh, past], _attrs, node) => {
        const { dtype } = cache.type;
        const rounds = dtype === "f16" && fresh.type.dtype === "f32";
        const rows = rounds ? fresh : castTo(e, fresh, plainDType(dtype, "kv_append"));
        return e.instr("kv_append", [cache, rows, past], node.outputs);
      },
    },
    coreml: milNative((e, [cache, fresh, past]) =>
      e.appendToCache(cache, e.op("transpose", { x: fresh, perm: [1, 0, 2] }), past),
    ),
    mlx: { kind: "native", emit: (e, [cache, fresh, past]) => e.append(cache, fresh, past) },
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
