import { milExpand, milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, sameShape, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, broadcastData, numbersOf } from "../families/host.ts";
import { integers, normal, sample, withDoubles } from "../families/samples.ts";
import { unbroadcast } from "../families/unbroadcast.ts";

const shapeOfAll = (shapes: readonly TensorType["shape"][]): TensorType["shape"] =>
  shapes.reduce((sum, shape) => broadcastShapes(sum, shape, "where"));

export const where: Op<"where", NoAttrs, 3> = defineOp({
  name: "where",
  summary: "Takes the second operand where the condition is true, the third elsewhere, with broadcasting.",
  arity: 3,
  operands: ["condition", "if true", "if false"],
  outputs: "one",
  attributes: {},
  infer: ([condition, a, b]) => {
    if (condition.dtype !== "bool")
      throw new WorkbenchError("IR_TYPE", `[where] condition: got ${condition.dtype}, expected bool`);
    if (plainDType(a.dtype, "where") !== plainDType(b.dtype, "where"))
      throw new WorkbenchError(
        "IR_TYPE",
        `[where] operand types differ: got ${a.dtype} and ${b.dtype}, expected one dtype`,
        {
          hint: "Insert a cast.",
        },
      );
    return tensor(a.dtype, shapeOfAll([condition.shape, a.shape, b.shape]));
  },
  reference: ([condition, a, b]) => {
    const shape = numbersOf(shapeOfAll([condition.shape, a.shape, b.shape]), "where");
    const [c, x, y] = [broadcastData(condition, shape), broadcastData(a, shape), broadcastData(b, shape)];
    return hostTensor(
      a.dtype,
      shape,
      c.map((flag, i) => (flag !== 0 ? at(x, i) : at(y, i))),
    );
  },
  oracle: { numpy: "np.where(x0, x1, x2)" },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [condition, a, b] }) => {
      const zero = scalarLike(g, ct, 0);
      return [
        undefined,
        unbroadcast(g, g.where([condition, ct, zero]), a),
        unbroadcast(g, g.where([condition, zero, ct]), b),
      ];
    },
  },
  batching: { kind: "elementwise" },
  traits: ["pure", "elementwise", "movement"],
  backends: {
    cpu: cpuKernel("where", { takes: MOVABLE }),
    coreml: milNative((e, [cond, a, b], _attrs, node) => {
      // `select` takes its result's shape from the branches alone.
      const [, typeA, typeB] = node.inputs;
      const [type] = node.outputs;
      if (!typeA || !typeB || !type || sameShape(broadcastShapes(typeA.shape, typeB.shape, "where"), type.shape))
        return e.op("select", { cond, a, b });
      return e.op("select", { cond, a: milExpand(e, a, typeA, staticShape(type, "where")), b });
    }),
    mlx: mlxCall("where", { takes: "any" }),
  },
  samples: withDoubles([
    sample("odd sizes", [integers(1, [3, 5], 0, 1, "bool"), normal(2, [3, 5]), normal(3, [3, 5])], {}),
    sample("everything broadcasts", [integers(4, [4, 1], 0, 1, "bool"), normal(5, [5]), normal(6, [])], {}),
    sample(
      "symbolic",
      [integers(7, ["T", 1], 0, 1, "bool"), normal(8, ["T", 3]), normal(9, [3])],
      {},
      { bindings: { T: 4 } },
    ),
    sample("whole numbers", [integers(10, [7], 0, 1, "bool"), integers(11, [7], -5, 5), integers(12, [1], 0, 9)], {}),
  ]),
});
