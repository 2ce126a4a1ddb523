import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor, stridesOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { stridedCopy } from "../families/host.ts";
import { integers, normal, sample, withDoubles } from "../families/samples.ts";

export interface TransposeAttrs {
  /** Axis i of the result is axis perm[i] of the operand. */
  readonly perm: readonly number[];
}

function permute<T>(items: readonly T[], perm: readonly number[]): readonly T[] {
  return perm.map((axis) => items[axis]).filter((item) => item !== undefined);
}

export const transpose: Op<"transpose", TransposeAttrs, 1> = defineOp({
  name: "transpose",
  summary: "Reorders axes.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { perm: attr.ints() },
  infer: ([x], { perm }) => {
    if ([...perm].sort((a, b) => a - b).some((axis, i) => axis !== i) || perm.length !== x.shape.length)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[transpose] perm: got [${perm.join(",")}], expected the axes 0..${x.shape.length - 1} in some order`,
      );
    return tensor(plainDType(x.dtype, "transpose"), permute(x.shape, perm));
  },
  reference: ([x], { perm }) => {
    const shape = permute(x.shape, perm);
    return hostTensor(x.dtype, shape, stridedCopy(x.data, shape, permute(stridesOf(x.shape), perm)));
  },
  oracle: { numpy: 'np.transpose(x0, a["perm"])' },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, attrs: { perm } }) => [g.transpose([ct], { perm: perm.map((_, i) => perm.indexOf(i)) })],
  },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs: { perm } }) => g.transpose([x], { perm: [0, ...perm.map((axis) => axis + 1)] }),
  },
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("transpose", { takes: MOVABLE, params: ({ perm }) => ({ perm }) }),
    coreml: milNative((e, [x], { perm }) =>
      perm.length === 0 ? e.op("identity", { x }) : e.op("transpose", { x, perm }),
    ),
    mlx: mlxCall("transpose", { takes: "any", attrs: ({ perm }) => ({ perm }) }),
  },
  samples: withDoubles([
    sample("matrix, odd sizes", [normal(1, [3, 5])], { perm: [1, 0] }),
    sample("heads to the front, symbolic", [normal(2, ["T", 3, 5])], { perm: [1, 0, 2] }, { bindings: { T: 4 } }),
    sample("cycle of four axes", [normal(3, [2, 3, 4, 5])], { perm: [3, 0, 2, 1] }),
    sample("whole numbers", [integers(4, [2, 7], -9, 9)], { perm: [1, 0] }),
    sample("nothing moves", [normal(5, [2, 3])], { perm: [0, 1] }),
  ]),
});
