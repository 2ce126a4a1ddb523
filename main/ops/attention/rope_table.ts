import { milNative, milPlain } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AttrSchema } from "../../ir/attributes.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { Op, Range, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import type { RopeTableAttrs } from "../families/ropeFrequencies.ts";
import { ggmlAngles, ropeFrequencies } from "../families/ropeFrequencies.ts";
import { integers, sample, uniform, values, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

export type { RopeTableAttrs } from "../families/ropeFrequencies.ts";

/** angle = position · frequency / factor, so d(cos, sin) = (sin, -cos) · angle / factor · dfactor. */
function gradient(context: VjpContext<RopeTableAttrs, Range<1, 2>>): readonly (Value | undefined)[] {
  const {
    g,
    inputs: [positions, factors],
    outputs: [cos, sin],
    cotangents: [dcos, dsin],
    attrs,
  } = context;
  if (factors === undefined || cos === undefined || sin === undefined) return [undefined];
  const [count = 0] = g.typeOf(positions).shape;
  const column = g.reshape([g.cast([positions], { to: "f32" })], { shape: [count, 1] });
  const { frequencies } = ropeFrequencies(attrs);
  const rates = g.constant(hostTensor("f32", [frequencies.length], frequencies));
  const slope = g.div([g.mul([column, rates]), g.mul([factors, factors])]);
  const terms = [
    ...(dcos === undefined ? [] : [g.mul([dcos, sin])]),
    ...(dsin === undefined ? [] : [g.neg([g.mul([dsin, cos])])]),
  ];
  const sums = terms.map((term) => g.reduce([g.mul([term, slope])], { kind: "sum", axes: [0] }));
  const [first, second] = sums;
  return [undefined, first !== undefined && second !== undefined ? g.add([first, second]) : first];
}

export const ROPE_TABLE_ATTRS: AttrSchema<RopeTableAttrs> = {
  dims: attr.int(2),
  base: attr.float(),
  scaling: attr.oneOf(["none", "linear", "yarn"]),
  factor: attr.float(),
  originalContext: attr.int(0),
  attentionFactor: attr.float(),
  betaFast: attr.float(),
  betaSlow: attr.float(),
};

/** By NumPy: `inv`, the angle of each pair at position 1. */
export const ROPE_ANGLES = lines(
  `
def ramp(low, high, n):
    return np.clip((np.arange(n) - low) / max(high - low, 0.001), 0, 1)
`.trim(),
  'inv = a["base"] ** (-np.arange(0, a["dims"], 2) / a["dims"])',
  'at = lambda r: a["dims"] * np.log(a["originalContext"] / (2 * np.pi * r)) / (2 * np.log(a["base"]))',
  'mix = ramp(max(np.floor(at(a["betaFast"])), 0), min(np.ceil(at(a["betaSlow"])), a["dims"] - 1), a["dims"] // 2) if a["scaling"] == "yarn" else 1.0',
  'inv = inv if a["scaling"] == "none" else inv / a["factor"] * mix + inv * (1 - mix)',
);

const plain: RopeTableAttrs = {
  dims: 8,
  base: 10000,
  scaling: "none",
  factor: 1,
  originalContext: 0,
  attentionFactor: 1,
  betaFast: 32,
  betaSlow: 1,
};

export const rope_table: Op<"rope_table", RopeTableAttrs, Range<1, 2>, "many"> = defineOp({
  name: "rope_table",
  summary: "Cosines and sines of the rotary angles of each position; the optional factors divide the frequencies.",
  arity: { least: 1, most: 2 },
  operands: ["positions", "factors"],
  outputs: "many",
  results: ["cosines", "sines"],
  attributes: ROPE_TABLE_ATTRS,
  infer: ([positions, factors], { dims, base, factor, scaling, originalContext }) => {
    if (positions.dtype !== "i32" || positions.shape.length !== 1)
      throw new WorkbenchError("IR_TYPE", `[rope_table] positions: got ${formatType(positions)}, expected i32[T]`);
    if (dims % 2 !== 0 || !(base > 0) || !(factor > 0) || (scaling === "yarn" && originalContext < 1))
      throw new WorkbenchError(
        "IR_ATTRIBUTE",
        `[rope_table] got dims ${dims}, base ${base}, factor ${factor}, original context ${originalContext}; expected even dims, positive base and factor, and YaRN's original context`,
      );
    if (factors && (factors.dtype !== "f32" || !sameShape(factors.shape, [dims / 2])))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[rope_table] factors: got ${formatType(factors)}, expected f32[${dims / 2}]`,
      );
    const table = tensor("f32", [positions.shape[0] ?? 0, dims / 2]);
    return [table, table];
  },
  reference: ([positions, factors], attrs) => {
    const { frequencies, magnitude } = ropeFrequencies(attrs);
    const half = frequencies.length;
    const angles = new Float64Array(positions.data.length * half).map(
      (_, i) =>
        (at(positions.data, Math.floor(i / half)) * at(frequencies, i % half)) /
        (factors ? at(factors.data, i % half) : 1),
    );
    const shape = [positions.data.length, half];
    return [
      hostTensor(
        "f32",
        shape,
        angles.map((a) => magnitude * Math.cos(a)),
      ),
      hostTensor(
        "f32",
        shape,
        angles.map((a) => magnitude * Math.sin(a)),
      ),
    ];
  },
  oracle: {
    numpy: lines(
      ROPE_ANGLES,
      "z = a['attentionFactor'] * np.exp(1j * np.outer(x0, inv / (xs[1] if len(xs) > 1 else 1.0)))",
      "(z.real, z.imag)",
    ),
  },
  gradient: { kind: "vjp", rule: gradient },
  batching: eachItem("rope_table"),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("rope_tables", {
      takes: [["i32"], ["f32"]],
      params: (attrs) => ({ ...ropeFrequencies(attrs), ...ggmlAngles(attrs) }),
    }),
    // Angles reach thousands: they are computed in fp32, from factors in fp32, even where the program is fp16.
    coreml: {
      ...milNative((e, [positions, factors], attrs) => {
        const { frequencies, magnitude } = ropeFrequencies(attrs);
        const column = e.op("expand_dims", { x: e.cast(positions, "fp32"), axes: [1] });
        const rates = e.constant("fp32", [1, frequencies.length], frequencies);
        const straight = e.op("mul", { x: column, y: rates });
        const angles =
          factors === undefined ? straight : e.op("real_div", { x: straight, y: e.cast(milPlain(e, factors), "fp32") });
        const table = (op: "cos" | "sin"): typeof angles => {
          const turned = e.op(op, { x: angles });
          return e.cast(magnitude === 1 ? turned : e.op("mul", { x: turned, y: magnitude }), e.float);
        };
        return [table("cos"), table("sin")];
      }),
      reads32: [1],
    },
    mlx: mlxCall("rope_tables", { takes: "any", attrs: (attrs) => ({ ...ropeFrequencies(attrs) }) }),
  },
  samples: withDoubles([
    sample("plain", [values([0, 1, 2, 100], [4], "i32")], plain),
    sample(
      "linear, symbolic",
      [integers(1, ["T"], 0, 4000)],
      { ...plain, scaling: "linear", factor: 4 },
      { bindings: { T: 3 } },
    ),
    sample("YaRN", [values([0, 7, 5000], [3], "i32")], {
      ...plain,
      dims: 64,
      base: 1e6,
      scaling: "yarn",
      factor: 4,
      originalContext: 32768,
      attentionFactor: 1.1 * (1 + 0.1 * Math.log(4)),
    }),
    sample("factors of the file", [values([0, 3, 9], [3], "i32"), uniform(2, [4], 1, 8)], { ...plain, base: 500000 }),
  ]),
});
