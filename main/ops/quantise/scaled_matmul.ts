import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Decomposition, InputsOf, Op, Range } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { CodesArity, SchemeAttrs } from "../families/blocks.ts";
import { BLOCKS_IN_PYTHON, blockParts, checkBlocks, dequantizedBlocks, schemeSchema } from "../families/blocks.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, uniform, values } from "../families/samples.ts";

type Arity = Range<3, 4>;

const weightOf = <T>([, codes, scales, zeros]: InputsOf<Arity, T>): InputsOf<CodesArity, T> =>
  zeros === undefined ? [codes, scales] : [codes, scales, zeros];

const parts: Decomposition<SchemeAttrs, Arity> = (g, inputs, attrs) =>
  g.linear([inputs[0], blockParts(g, weightOf<Value>(inputs), attrs)]);

export const scaled_matmul: Op<"scaled_matmul", SchemeAttrs, Arity> = defineOp({
  name: "scaled_matmul",
  summary:
    "x · weightᵀ, where the weight [N, K] is codes in blocks along K, each with its scale, as dequantize_blocks reads them.",
  arity: { least: 3, most: 4 },
  operands: ["x", "codes", "scales", "zeros"],
  outputs: "one",
  attributes: schemeSchema,
  infer: (inputs, attrs) => {
    const [x, codes] = inputs;
    checkBlocks("scaled_matmul", weightOf(inputs), attrs);
    const [rows = 1, inner] = codes.shape;
    if (x.dtype !== "f32" || codes.shape.length !== 2 || x.shape.length < 1 || x.shape.at(-1) !== inner)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[scaled_matmul] got ${formatType(x)} and ${formatType(codes)}, expected f32[…, K] and codes [N, K]`,
      );
    return tensor("f32", [...x.shape.slice(0, -1), rows]);
  },
  reference: (inputs, attrs) => {
    const x = inputs[0];
    const weight = dequantizedBlocks(weightOf<HostTensor>(inputs), attrs);
    const [rows, inner] = [at(weight.shape, 0), at(weight.shape, 1)];
    const shape = [...x.shape.slice(0, -1), rows];
    const out = new Float64Array(shape.reduce((product, size) => product * size, 1)).map((_, i) => {
      const [line, row] = [Math.floor(i / rows), i % rows];
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += at(x.data, line * inner + k) * at(weight.data, row * inner + k);
      return sum;
    });
    return hostTensor("f32", shape, out);
  },
  oracle: { jax: lines(BLOCKS_IN_PYTHON, "np.asarray(x0) @ dequantized(*xs[1:]).T") },
  ...byParts(parts),
  traits: ["pure"],
  samples: [
    sample("odd sizes", [normal(1, [3, 10]), integers(2, [5, 10], -127, 127, "i8"), uniform(3, [5, 2], 0.01, 0.03)], {
      scheme: "int8",
    }),
    sample(
      "four bits with zeros, symbolic rows",
      [
        normal(4, ["T", 6]),
        integers(5, [7, 6], -7, 7, "i8"),
        uniform(6, [7, 3], 0.01, 0.3),
        integers(7, [7, 3], -3, 3, "i8"),
      ],
      { scheme: "int4" },
      { bindings: { T: 3 } },
    ),
    sample(
      "small floats, images",
      [normal(8, [2, 3, 8]), integers(9, [3, 8], 0, 126, "u8"), uniform(10, [3, 2], 0.001, 0.02)],
      { scheme: "e4m3" },
    ),
    sample("four bits", [normal(11, [1, 16]), integers(12, [3, 16], 0, 15, "u8"), uniform(13, [3, 1], 0.1, 2)], {
      scheme: "e2m1",
    }),
    sample("no rows", [values([], [0, 4]), integers(14, [3, 4], -9, 9, "i8"), uniform(15, [3, 1], 0.1, 2)], {
      scheme: "int8",
    }),
  ],
});
