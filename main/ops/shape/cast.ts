import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAmong, dtypeBytes, isFloat, isInteger, keepsValues, plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { roundToFloat } from "../../quant/half.ts";
import { tensor } from "../../ir/type.ts";
import { wholeRange, wrapWhole } from "../../ir/wholeNumbers.ts";
import type { Op, Sample } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

export interface CastAttrs {
  readonly to: DType;
}

/** Float to whole number: towards zero, saturating, NaN is 0. Whole number to a narrower one: modulo. */
export function castNumber(x: number, from: DType, to: DType): number {
  if (to === "bool") return x !== 0 ? 1 : 0;
  const limits = wholeRange(to);
  if (limits === undefined) return isFloat(to) && dtypeBytes(to) < 8 ? roundToFloat(x, to) : x;
  const [low, high] = limits;
  if (isInteger(from)) return wrapWhole(x, to);
  if (Number.isNaN(x)) return 0;
  return Math.min(high, Math.max(low, Math.trunc(x))) + 0;
}

export const cast: Op<"cast", CastAttrs, 1> = defineOp({
  name: "cast",
  summary:
    "Converts to another dtype: floats round to even, floats to whole numbers truncate and saturate, anything but 0 is true.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { to: attr.dtype() },
  infer: ([x], { to }) => {
    dtypeAmong("numbers or bool", x.dtype, "cast");
    return tensor(dtypeAmong("numbers or bool", to, "cast"), x.shape);
  },
  reference: ([x], { to }) =>
    hostTensor(to, x.shape, keepsValues(x.dtype, to) ? x.data : x.data.map((v) => castNumber(v, x.dtype, to))),
  oracle: {
    numpy: lines(
      `
def cast(x, to):
    whole = {"u8": np.uint8, "i8": np.int8, "i16": np.int16, "u32": np.uint32, "i32": np.int32}.get(to)
    if whole and x.dtype.kind == "f":
        return np.clip(np.nan_to_num(np.trunc(x)), np.iinfo(whole).min, np.iinfo(whole).max).astype(whole)
    if to == "bf16":
        step = 2 ** (np.floor(np.log2(np.abs(x))) - 7)
        return np.rint(x / step) * step
    return x.astype(whole or {"f32": np.float64, "f16": np.float16, "bool": np.bool_}[to])
`.trim(),
      'cast(x0, a["to"])',
    ),
  },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x], attrs }) => {
      const from = plainDType(g.typeOf(x).dtype, "cast");
      return [isFloat(from) && isFloat(attrs.to) ? g.cast([ct], { to: from }) : undefined];
    },
  },
  batching: { kind: "elementwise" },
  traits: ["pure", "elementwise"],
  backends: {
    cpu: cpuKernel("cast", { takes: MOVABLE }),
    coreml: milNative(
      (e, [x], { to }, { inputs: [from] }) => {
        const made = e.cast(x, e.dtypeOf(to));
        const limits = isInteger(to) && dtypeBytes(to) < 4 ? wholeRange(to) : undefined;
        if (limits === undefined || from === undefined || !isFloat(from.dtype)) return made;
        // Core ML has int32 for it. Floats are held to the limits as int32, as a half has no 32767.
        return e.op("maximum", { x: e.op("minimum", { x: made, y: limits[1] }), y: limits[0] });
      },
      ({ inputs: [x], attrs: { to } }) =>
        x && isInteger(to) && isInteger(x.dtype) && dtypeBytes(to) < 4
          ? `Core ML holds whole numbers as int32, which does not wrap at the size of ${to}`
          : true,
    ),
    mlx: mlxCall("cast", {
      takes: "comparable",
      when: ({ inputs: [x], attrs: { to } }) => {
        if (to === "c64")
          return "MLX's cast to complex numbers adds an imaginary part, which an element here cannot hold";
        return x?.dtype === "f64" && (to === "f16" || to === "bf16")
          ? `MLX rounds to float32 on the way to ${to}, and so twice: this operand is f64`
          : true;
      },
    }),
  },
  samples: withDoubles([
    sample("float to whole number truncates", [values([-2.7, -0.5, 0, 0.5, 1.9, 7])], { to: "i32" }),
    sample("whole number to float, odd sizes", [integers(1, [3, 5], -9, 9)], { to: "f32" }),
    sample("to half, symbolic", [normal(2, ["T", 7])], { to: "f16" }, { bindings: { T: 3 }, differentiable: false }),
    sample("to bool", [values([0, -0, 1, -3, 0.25])], { to: "bool" }),
    sample("bool to float", [integers(3, [6], 0, 1, "bool")], { to: "f32" }),
    sample("saturates", [values([1e30, -1e30, 300])], { to: "i32" }),
    ...(["u8", "i8", "i16"] as const).map((to): Sample<CastAttrs> =>
      sample(
        `to ${to} saturates, NaN is 0`,
        [values([200, -300, 1.5, -5, 60000, -60000, 32760, Infinity, -Infinity, NaN])],
        { to },
      ),
    ),
    sample("same dtype", [normal(4, [4])], { to: "f32" }),
    ...(["f16", "bf16"] as const).map((to): Sample<CastAttrs> =>
      sample(
        `float64 to ${to} rounds once: just above and below the middle, almost too large, too small`,
        [
          values(
            [1 + 2 ** -11 + 2 ** -40, 1 + 3 * 2 ** -11 - 2 ** -40, 1 + 2 ** -8 + 2 ** -40, 2 ** -30 - 65520, 1e-300],
            [5],
            "f64",
          ),
        ],
        { to },
        { differentiable: false },
      ),
    ),
    ...(["u8", "i8", "i16", "u32"] as const).map((to): Sample<CastAttrs> =>
      sample(`float64 to ${to} saturates`, [values([1e30, -1e30, 300.5, -129.9, -0.5, 2 ** 31], [6], "f64")], { to }),
    ),
    ...(["u8", "i8", "i16", "u32"] as const).map((to): Sample<CastAttrs> =>
      sample(`long whole number to ${to} wraps`, [values([2 ** 40 + 300, -129, 255, -(2 ** 31)], [4], "i64")], { to }),
    ),
  ]),
});
