import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { MOVABLE, takesTypes } from "../../backends/cpu/rules.ts";
import { boundShape } from "../families/host.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";

export interface ReshapeAttrs {
  readonly shape: Shape;
}

export const reshape: Op<"reshape", ReshapeAttrs, 1> = defineOp({
  name: "reshape",
  summary: "The same elements in row-major order under another shape.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { shape: attr.dims() },
  infer: ([x], { shape }) => {
    const [before, after] = [productOf(x.shape), productOf(shape)];
    if (before !== after)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[reshape] element counts differ: got ${formatType(x)} to [${shape.join(",")}], ${before} and ${after}`,
      );
    return tensor(plainDType(x.dtype, "reshape"), shape);
  },
  reference: ([x], _attrs, [type]) => hostTensor(x.dtype, boundShape(type, "reshape"), x.data),
  oracle: { numpy: "x0.reshape(s)" },
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [g.reshape([ct], { shape: g.typeOf(x).shape })] },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs, size }) => g.reshape([x], { shape: [size, ...attrs.shape] }),
  },
  traits: ["pure", "view"],
  backends: {
    cpu: {
      kind: "native",
      emit: (e, [x], _attrs, node) => e.view(x, node.outputs[0] ?? x.type),
      when: (node) => takesTypes("reshape", MOVABLE, node),
    },
    coreml: milNative((e, [x], _attrs, node) => {
      const [type] = node.outputs;
      const shape = type ? staticShape(type, "reshape") : [];
      return shape.length === 0 ? e.op("squeeze", { x }) : e.op("reshape", { x, shape });
    }),
    mlx: mlxCall("reshape", { takes: "any" }),
  },
  samples: withDoubles([
    sample("split an axis", [normal(1, [3, 10])], { shape: [3, 2, 5] }),
    sample("merge heads, symbolic", [normal(2, ["T", 3, 5])], { shape: ["T", 15] }, { bindings: { T: 2 } }),
    sample(
      "complex numbers",
      [{ type: tensor("c64", [2, 6]), fill: { kind: "normal", seed: 9 } }],
      { shape: [3, 4] },
      { differentiable: false },
    ),
    sample("symbol moves into a product", [normal(3, ["T", 4])], { shape: ["2*T", 2] }, { bindings: { T: 3 } }),
    sample("to a scalar", [normal(4, [1, 1])], { shape: [] }),
    sample("unit axes come and go", [normal(5, [1, 7])], { shape: [7, 1, 1] }),
  ]),
});
