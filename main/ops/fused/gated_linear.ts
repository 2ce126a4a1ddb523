import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { cpuKernel, FLOATS, WEIGHTS } from "../../backends/cpu/rules.ts";
import { inferLinear, multiplyTransposed } from "../families/linear.ts";
import { normal, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { swiglu } from "./swiglu.ts";

const decompose = (g: OpBuilder, [x, gate, up]: readonly [Value, Value, Value]): Value =>
  g.swiglu([g.linear([x, gate]), g.linear([x, up])]);

export const gated_linear: Op<"gated_linear", NoAttrs, 3> = defineOp({
  name: "gated_linear",
  summary: "silu(x · gateᵀ) · (x · upᵀ): the first half of a gated feed-forward block.",
  arity: 3,
  operands: ["x", "gate weight", "up weight"],
  outputs: "one",
  attributes: {},
  infer: ([x, gate, up]) => {
    if (!sameShape(gate.shape, up.shape))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[gated_linear] weights differ: got ${formatType(gate)} and ${formatType(up)}`,
      );
    inferLinear("gated_linear", x, gate);
    return inferLinear("gated_linear", x, up);
  },
  reference: ([x, gate, up], attrs, types) =>
    swiglu.reference([multiplyTransposed(x, gate), multiplyTransposed(x, up)], attrs, types),
  oracle: { numpy: "(x0 @ x1.T) * scipy.special.expit(x0 @ x1.T) * (x0 @ x2.T)" },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused"],
  backends: {
    cpu: cpuKernel("swiglu_linear", { takes: [FLOATS, WEIGHTS], params: () => ({ activation: 0 }) }),
    coreml: decomposed(decompose),
    mlx: decomposed(decompose),
  },
  samples: withDoubles([
    { title: "odd sizes", inputs: [normal(1, [3, 5]), normal(2, [7, 5]), normal(3, [7, 5])], attrs: {} },
    {
      title: "symbolic",
      inputs: [normal(4, ["T", 4]), normal(5, [3, 4]), normal(6, [3, 4])],
      attrs: {},
      bindings: { T: 3 },
    },
    {
      title: "packed weights of two types",
      inputs: [normal(7, [2, 256]), weight(8, [3, 256], "q4_k"), weight(9, [3, 256], "q6_k")],
      attrs: {},
    },
  ]),
});
