import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { broadcastShapes, tensor } from "../../ir/type.ts";
import type { Op, Sample } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { COMPARABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { commonDType, referenceBinary } from "../families/binary.ts";
import { integers, normals, sample, values, withDoubles } from "../families/samples.ts";

export type CompareOp = "eq" | "ne" | "lt" | "le" | "gt" | "ge";
export interface CompareAttrs {
  readonly op: CompareOp;
}

const TEST: { readonly [K in CompareOp]: (a: number, b: number) => boolean } = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};
/** The same names in MIL and in MLX. */
const SPELLED = {
  eq: "equal",
  ne: "not_equal",
  lt: "less",
  le: "less_equal",
  gt: "greater",
  ge: "greater_equal",
} as const;

/** MIL compares numbers only; truth values are 0 and 1 there, too. */
const asNumber = (e: CoremlEmitter, x: MilValue): MilValue => (x.type.dtype === "bool" ? e.cast(x, "int32") : x);

export const compare: Op<"compare", CompareAttrs, 2> = defineOp({
  name: "compare",
  summary: "Compares two tensors element by element, with broadcasting; the result is bool.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: { op: attr.oneOf(["eq", "ne", "lt", "le", "gt", "ge"]) },
  infer: ([a, b]) => {
    commonDType("compare", "numbers or bool", a, b);
    return tensor("bool", broadcastShapes(a.shape, b.shape, "compare"));
  },
  reference: (inputs, { op }) => referenceBinary((a, b) => Number(TEST[op](a, b)))(inputs, "bool"),
  oracle: {
    numpy:
      '{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[a["op"]](x0, x1)',
  },
  gradient: nondifferentiable("the result is true or false: its derivative is zero wherever it exists"),
  batching: { kind: "elementwise" },
  traits: ["pure", "elementwise"],
  backends: {
    cpu: cpuKernel(({ op }) => op satisfies CpuKernel, { takes: COMPARABLE }),
    coreml: milNative((e, [x, y], { op }) => e.op(SPELLED[op], { x: asNumber(e, x), y: asNumber(e, y) })),
    mlx: mlxCall(({ op }) => SPELLED[op], { takes: "comparable" }),
  },
  samples: withDoubles([
    sample("less, odd sizes", normals(1, [3, 5], [3, 5]), { op: "lt" }),
    sample("equal whole numbers, broadcast", [integers(3, [4, 1], 0, 3), integers(4, [5], 0, 3)], { op: "eq" }),
    sample(
      "greater or equal, symbolic",
      [integers(5, ["T", 1], 0, 4), integers(6, [6], 0, 4)],
      { op: "ge" },
      { bindings: { T: 3 } },
    ),
    sample("not equal", [integers(7, [9], 0, 2), integers(8, [9], 0, 2)], { op: "ne" }),
    sample("less or equal", [integers(9, [9], 0, 2), integers(10, [9], 0, 2)], { op: "le" }),
    sample("greater", normals(11, [7], []), { op: "gt" }),
    ...(["i8", "u8", "i16", "u32", "i64"] as const).map((dtype, i): Sample<CompareAttrs> =>
      sample(`less, ${dtype}`, [integers(15 + i, [9], 100, 104, dtype), integers(20 + i, [9], 100, 104, dtype)], {
        op: "lt",
      }),
    ),
    sample("equal truth values", [integers(13, [6], 0, 1, "bool"), integers(14, [6], 0, 1, "bool")], { op: "eq" }),
    sample("truth values in order, broadcast", [values([0, 1], [2, 1], "bool"), values([0, 1], [2], "bool")], {
      op: "lt",
    }),
  ]),
});
