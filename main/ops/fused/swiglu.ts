import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { inferBinary } from "../families/binary.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { normal, values, withDoubles } from "../families/samples.ts";
import { inferUnary, logistic } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

const decompose = (g: OpBuilder, [gate, up]: readonly [Value, Value]): Value => g.mul([g.silu([gate]), up]);

export const swiglu: Op<"swiglu", NoAttrs, 2> = defineOp({
  name: "swiglu",
  summary: "silu(gate) · up, element by element.",
  arity: 2,
  operands: ["gate", "up"],
  outputs: "one",
  attributes: {},
  infer: ([gate, up]) => {
    if (!sameShape(gate.shape, up.shape))
      throw new WorkbenchError("IR_SHAPE", `[swiglu] shapes differ: got ${formatType(gate)} and ${formatType(up)}`);
    inferUnary("swiglu")([gate]);
    return inferBinary("swiglu")([gate, up]);
  },
  reference: ([gate, up]) =>
    hostTensor(
      gate.dtype,
      gate.shape,
      gate.data.map((x, i) => x * logistic(x) * at(up.data, i)),
    ),
  oracle: { numpy: "x0 * scipy.special.expit(x0) * x1" },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "elementwise", "fused"],
  backends: {
    cpu: cpuKernel("glu", { params: () => ({ activation: 0 }) }),
    coreml: decomposed(decompose),
    mlx: mlxCall("swiglu"),
  },
  samples: withDoubles([
    { title: "odd sizes", inputs: [normal(1, [3, 5]), normal(2, [3, 5])], attrs: {} },
    { title: "symbolic rows", inputs: [normal(3, ["T", 7]), normal(4, ["T", 7])], attrs: {}, bindings: { T: 3 } },
    { title: "far from zero", inputs: [values([-20, -1, 1, 20]), normal(5, [4])], attrs: {} },
  ]),
});
