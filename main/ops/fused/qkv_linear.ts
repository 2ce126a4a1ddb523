import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { cpuKernel, FLOATS, WEIGHTS } from "../../backends/cpu/rules.ts";
import { inferLinear, multiplyTransposed } from "../families/linear.ts";
import { normal, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** The three products with their biases. */
const products = <T>([x, wq, wk, wv, bq, bk, bv]: InputsOf<Range<4, 7>, T>): readonly (readonly [T, T, T?])[] => [
  bq === undefined ? [x, wq] : [x, wq, bq],
  bk === undefined ? [x, wk] : [x, wk, bk],
  bv === undefined ? [x, wv] : [x, wv, bv],
];

const decompose = (g: OpBuilder, inputs: InputsOf<Range<4, 7>, Value>): readonly Value[] =>
  products(inputs).map((operands) => g.linear(operands));

export const qkv_linear: Op<"qkv_linear", NoAttrs, Range<4, 7>, "many"> = defineOp({
  name: "qkv_linear",
  summary: "Three linear products of one operand: x, wq, wk, wv and all three biases or none; three outputs.",
  arity: { least: 4, most: 7 },
  operands: ["x", "query weight", "key weight", "value weight", "query bias", "key bias", "value bias"],
  outputs: "many",
  results: ["query", "key", "value"],
  attributes: {},
  infer: (inputs) => {
    if (inputs[4] !== undefined && inputs[6] === undefined)
      throw new WorkbenchError(
        "IR_STRUCTURE",
        `[qkv_linear] biases: got ${inputs.length - 4}, expected all three or none`,
      );
    return products(inputs).map(([x, w, bias]) => inferLinear("qkv_linear", x, w, bias));
  },
  reference: (inputs) => products(inputs).map(([x, w, bias]) => multiplyTransposed(x, w, bias)),
  oracle: { numpy: "tuple(x0 @ w.T + (xs[4 + i] if len(xs) > 4 else 0) for i, w in enumerate(xs[1:4]))" },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused"],
  backends: {
    cpu: cpuKernel("qkv_linear", { takes: [FLOATS, WEIGHTS, WEIGHTS, WEIGHTS, FLOATS] }),
    coreml: decomposed(decompose),
    mlx: decomposed(decompose),
  },
  samples: withDoubles([
    {
      title: "odd sizes",
      inputs: [normal(1, [3, 5]), normal(2, [6, 5]), normal(3, [3, 5]), normal(4, [3, 5])],
      attrs: {},
    },
    {
      title: "biases, symbolic",
      inputs: [
        normal(5, ["T", 4]),
        normal(6, [4, 4]),
        normal(7, [2, 4]),
        normal(8, [2, 4]),
        normal(9, [4]),
        normal(10, [2]),
        normal(11, [2]),
      ],
      attrs: {},
      bindings: { T: 3 },
    },
    {
      title: "packed weights of two types",
      inputs: [
        normal(12, [2, 256]),
        weight(13, [4, 256], "q4_k"),
        weight(14, [2, 256], "q4_k"),
        weight(15, [2, 256], "q6_k"),
      ],
      attrs: {},
    },
  ]),
});
