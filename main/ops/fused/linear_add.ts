import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { formatType, sameType } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { referenceBinary } from "../families/binary.ts";
import { cpuKernel, FLOATS, WEIGHTS } from "../../backends/cpu/rules.ts";
import { inferLinear, multiplyTransposed } from "../families/linear.ts";
import { normal, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

const plus = referenceBinary((a, b) => a + b);

const decompose = (g: OpBuilder, [x, w, residual, bias]: InputsOf<Range<3, 4>, Value>): Value =>
  g.add([g.linear(bias === undefined ? [x, w] : [x, w, bias]), residual]);

export const linear_add: Op<"linear_add", NoAttrs, Range<3, 4>> = defineOp({
  name: "linear_add",
  summary: "x · weightᵀ (+ bias) + residual.",
  arity: { least: 3, most: 4 },
  operands: ["x", "weight", "residual", "bias"],
  outputs: "one",
  attributes: {},
  infer: ([x, w, residual, bias]) => {
    const type = inferLinear("linear_add", x, w, bias);
    if (!sameType(type, residual))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[linear_add] residual: got ${formatType(residual)}, expected ${formatType(type)}`,
      );
    return type;
  },
  reference: ([x, w, residual, bias]) => plus([multiplyTransposed(x, w, bias), residual]),
  oracle: { numpy: "x0 @ x1.T + x2 + (xs[3] if len(xs) > 3 else 0)" },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused"],
  backends: {
    cpu: cpuKernel("linear_add", { takes: [FLOATS, WEIGHTS, FLOATS] }),
    coreml: decomposed(decompose),
    mlx: decomposed(decompose),
  },
  samples: withDoubles([
    { title: "odd sizes", inputs: [normal(1, [3, 5]), normal(2, [7, 5]), normal(3, [3, 7])], attrs: {} },
    {
      title: "bias, symbolic",
      inputs: [normal(4, ["T", 4]), normal(5, [3, 4]), normal(6, ["T", 3]), normal(7, [3])],
      attrs: {},
      bindings: { T: 3 },
    },
    { title: "packed weight", inputs: [normal(8, [2, 64]), weight(9, [5, 64], "q4_0"), normal(10, [2, 5])], attrs: {} },
  ]),
});
