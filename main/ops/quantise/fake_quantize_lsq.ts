import { WorkbenchError } from "../../diagnostics/errors.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { broadcastShapes, formatType, sameShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { BitsAttrs } from "../families/fakeQuantize.ts";
import { bitsSchema, gridParts, mostOf, onGrid } from "../families/fakeQuantize.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

const parts = (g: OpBuilder, [x, step]: readonly [Value, Value], { bits }: BitsAttrs): Value =>
  gridParts(g, x, step, bits);

export const fake_quantize_lsq: Op<"fake_quantize_lsq", BitsAttrs, 2> = defineOp({
  name: "fake_quantize_lsq",
  summary:
    "fake_quantize with a step that is learned (Esser et al. 2020): the gradient of the step is Σ ct · (round(z) − z), z = x / step, and beyond the grid Σ ct · sign(z) · most.",
  arity: 2,
  operands: ["x", "step"],
  outputs: "one",
  attributes: bitsSchema,
  infer: ([x, step]) => {
    const dtype = dtypeAmong("floats", x.dtype, "fake_quantize_lsq");
    if (step.dtype !== dtype || !sameShape(broadcastShapes(x.shape, step.shape, "fake_quantize_lsq"), x.shape))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[fake_quantize_lsq] step: got ${formatType(step)}, expected ${dtype} that stretches to ${formatType(x)}`,
      );
    return tensor(dtype, x.shape);
  },
  reference: ([x, step], { bits }) => onGrid(x, step, mostOf(bits)),
  oracle: {
    numpy: lines("most = 2 ** (a['bits'] - 1) - 1", "np.clip(np.rint(x0 / x1), -most, most) * x1"),
  },
  ...byParts(parts),
  traits: ["pure", "sensitive"],
  samples: withDoubles([
    sample("four bits, odd sizes", [normal(1, [3, 5]), values([0.2], [])], { bits: 4 }, { differentiable: false }),
    sample(
      "three bits, a step for each row, symbolic columns",
      [normal(2, [3, "T"], 3), uniform(3, [3, 1], 0.5, 0.9)],
      { bits: 3 },
      { bindings: { T: 7 }, differentiable: false },
    ),
    sample(
      "two bits, beyond the grid",
      [normal(4, [9], 3), values([0.7], [1])],
      { bits: 2 },
      { differentiable: false },
    ),
    sample("nothing", [values([], [0, 3]), values([1], [])], { bits: 8 }, { differentiable: false }),
  ]),
});
