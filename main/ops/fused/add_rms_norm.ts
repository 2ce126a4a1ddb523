import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { formatType, sameType } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { referenceBinary } from "../families/binary.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { inferNorm } from "../families/norm.ts";
import { normal, withDoubles } from "../families/samples.ts";
import type { RmsNormAttrs } from "../norm/rms_norm.ts";
import { rms_norm } from "../norm/rms_norm.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

const plus = referenceBinary((a, b) => a + b);

function decompose(
  g: OpBuilder,
  [x, residual, gamma]: readonly [Value, Value, Value],
  attrs: RmsNormAttrs,
): readonly Value[] {
  const sum = g.add([x, residual]);
  return [sum, g.rms_norm([sum, gamma], attrs)];
}

export const add_rms_norm: Op<"add_rms_norm", RmsNormAttrs, 3, "many"> = defineOp({
  name: "add_rms_norm",
  summary: "x + residual, and rms_norm of that sum: two outputs.",
  arity: 3,
  operands: ["x", "residual", "gamma"],
  outputs: "many",
  results: ["sum", "norm"],
  attributes: { eps: attr.float() },
  infer: ([x, residual, gamma]) => {
    if (!sameType(x, residual))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[add_rms_norm] operands differ: got ${formatType(x)} and ${formatType(residual)}`,
      );
    const type = inferNorm("add_rms_norm", [x, gamma]);
    return [type, type];
  },
  reference: ([x, residual, gamma], attrs, types) => {
    const sum = plus([x, residual]);
    return [sum, rms_norm.reference([sum, gamma], attrs, types)];
  },
  oracle: {
    numpy: lines(
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "(x0 + x1, rms(x0 + x1, a['eps']) * x2)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused", "sensitive"],
  backends: {
    cpu: cpuKernel("add_rms_norm", { params: ({ eps }) => ({ eps }) }),
    coreml: decomposed(decompose),
    mlx: decomposed(decompose),
  },
  samples: withDoubles([
    { title: "odd sizes", inputs: [normal(1, [3, 5]), normal(2, [3, 5]), normal(3, [5])], attrs: { eps: 1e-5 } },
    {
      title: "symbolic",
      inputs: [normal(4, ["T", 7]), normal(5, ["T", 7]), normal(6, [7])],
      attrs: { eps: 1e-6 },
      bindings: { T: 2 },
    },
    { title: "a vector", inputs: [normal(7, [9]), normal(8, [9]), normal(9, [9])], attrs: { eps: 1e-3 } },
  ]),
});
