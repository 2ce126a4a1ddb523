import { milExpand, milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { broadcastShapes, formatType, sameShape, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { alignRank } from "../families/batching.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { boundShape, broadcastData } from "../families/host.ts";
import { integers, normal, sample, withDoubles } from "../families/samples.ts";
import { unbroadcast } from "../families/unbroadcast.ts";

export interface ExpandAttrs {
  readonly shape: Shape;
}

export const expand: Op<"expand", ExpandAttrs, 1> = defineOp({
  name: "expand",
  summary: "Stretches axes of size 1, and adds axes in front, to a given shape.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { shape: attr.dims() },
  infer: ([x], { shape }) => {
    if (!sameShape(broadcastShapes(x.shape, shape, "expand"), shape))
      throw new WorkbenchError("IR_SHAPE", `[expand] ${formatType(x)} does not stretch to [${shape.join(",")}]`);
    return tensor(plainDType(x.dtype, "expand"), shape);
  },
  reference: ([x], _attrs, [type]) => {
    const shape = boundShape(type, "expand");
    return hostTensor(x.dtype, shape, broadcastData(x, shape));
  },
  oracle: { numpy: "np.broadcast_to(x0, s)" },
  gradient: { kind: "vjp", rule: ({ g, ct, inputs: [x] }) => [unbroadcast(g, ct, x)] },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs: { shape }, size }) =>
      g.expand([alignRank(g, x, true, shape.length)], { shape: [size, ...shape] }),
  },
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("expand", { takes: MOVABLE }),
    coreml: milNative((e, [x], _attrs, node) => {
      const [from] = node.inputs;
      const [to] = node.outputs;
      return from && to ? milExpand(e, x, from, staticShape(to, "expand")) : e.op("identity", { x });
    }),
    mlx: mlxCall("broadcast", { takes: "any" }),
  },
  samples: withDoubles([
    sample("a unit axis, odd sizes", [normal(1, [3, 1, 5])], { shape: [3, 7, 5] }),
    sample("axes in front, symbolic", [normal(2, [5])], { shape: ["T", 3, 5] }, { bindings: { T: 2 } }),
    sample("scalar", [normal(3, [])], { shape: [2, 3] }),
    sample("truth values", [integers(4, [1, 4], 0, 1, "bool")], { shape: [3, 4] }),
    sample("nothing to stretch", [normal(5, [2, 3])], { shape: [2, 3] }),
  ]),
});
