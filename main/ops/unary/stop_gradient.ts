import { milNative } from "../../backends/coreml/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { MOVABLE, takesTypes } from "../../backends/cpu/rules.ts";
import { elementwiseBatching, stepSamples } from "../families/unary.ts";

export const stop_gradient: Op<"stop_gradient", NoAttrs, 1> = defineOp({
  name: "stop_gradient",
  summary: "The same tensor; no gradient flows back through it.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: ([x]) => tensor(plainDType(x.dtype, "stop_gradient"), x.shape),
  reference: ([x]) => x,
  oracle: { numpy: "x0" },
  gradient: { kind: "vjp", rule: () => [undefined] },
  batching: elementwiseBatching,
  traits: ["pure", "view"],
  backends: {
    cpu: {
      kind: "native",
      emit: (e, [x]) => e.view(x, x.type),
      when: (node) => takesTypes("stop_gradient", MOVABLE, node),
    },
    coreml: milNative((e, [x]) => e.op("identity", { x })),
    mlx: { kind: "native", emit: (_e, [x]) => x },
  },
  samples: stepSamples,
});
