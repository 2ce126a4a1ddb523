import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { axisBatching, axisParam } from "../families/axes.ts";
import { at, forEachLine } from "../families/host.ts";
import { largest } from "../families/lines.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import { inferUnary } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface LogSoftmaxAttrs {
  readonly axis: number;
}

function parts(g: OpBuilder, [x]: readonly [Value], { axis }: LogSoftmaxAttrs): Value {
  const below = g.sub([x, largest(g, x, { axes: [axis], keepDims: true }, -Infinity)]);
  return g.sub([below, g.log([g.reduce([g.exp([below])], { kind: "sum", axes: [axis], keepDims: true })])]);
}

export const log_softmax: Op<"log_softmax", LogSoftmaxAttrs, 1> = defineOp({
  name: "log_softmax",
  summary: "The logarithm of the softmax along one axis, without underflow.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "log_softmax");
    return inferUnary("log_softmax")([x]);
  },
  reference: ([x], { axis }) => {
    const along = normalizeAxis(axis, x.shape.length, "log_softmax");
    const size = at(x.shape, along);
    const out = x.data.slice();
    forEachLine(x.shape, along, (start, stride) => {
      const line = Array.from({ length: size }, (_, i) => at(x.data, start + i * stride));
      const most = line.reduce((a, b) => Math.max(a, b), -Infinity);
      const log = Math.log(line.reduce((sum, value) => sum + Math.exp(value - most), 0));
      line.forEach((value, i) => (out[start + i * stride] = value - most - log));
    });
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: { numpy: 'scipy.special.log_softmax(x0, a["axis"]) if x0.size > 0 else x0' },
  // dx = ct - softmax(x) Σ ct
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [y = ct], attrs: { axis } }) => {
      const total = g.reduce([ct], { kind: "sum", axes: [axis], keepDims: true });
      return [g.sub([ct, g.mul([g.exp([y]), total])])];
    },
  },
  batching: axisBatching("log_softmax"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("log_softmax", { takes: REALS, params: axisParam("log_softmax") }),
    coreml: decomposed(parts),
    mlx: decomposed(parts),
  },
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1 }),
    sample("middle axis", [normal(2, [2, 5, 3])], { axis: 1 }),
    sample("symbolic rows", [normal(3, ["T", 7], 3)], { axis: 1 }, { bindings: { T: 3 } }),
    sample("large values", [values([1000, 1001, 999, -1000])], { axis: 0 }),
    sample("no rows", [values([], [0, 3])], { axis: 1 }),
    sample("a symbolic axis without elements", [values([], [3, "T"])], { axis: 1 }, { bindings: { T: 0 } }),
    sample("an empty axis", [values([], [3, 0])], { axis: 1 }),
  ]),
});
