import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { CodesArity, SchemeAttrs } from "../families/blocks.ts";
import { BLOCKS_IN_PYTHON, blockParts, checkBlocks, dequantizedBlocks, schemeSchema } from "../families/blocks.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, sample, uniform, values } from "../families/samples.ts";

export const dequantize_blocks: Op<"dequantize_blocks", SchemeAttrs, CodesArity> = defineOp({
  name: "dequantize_blocks",
  summary:
    "What codes in blocks along the last axis stand for: (code − zero) · scale of the block for int8 and int4, the small float times the scale for e4m3, e5m2 and e2m1.",
  arity: { least: 2, most: 3 },
  operands: ["codes", "scales", "zeros"],
  outputs: "one",
  attributes: schemeSchema,
  infer: (inputs, attrs) => {
    checkBlocks("dequantize_blocks", inputs, attrs);
    return tensor("f32", inputs[0].shape);
  },
  reference: dequantizedBlocks,
  oracle: { jax: lines(BLOCKS_IN_PYTHON, "dequantized(*xs)") },
  ...byParts(blockParts),
  traits: ["pure"],
  samples: [
    sample("odd sizes", [integers(1, [3, 10], -127, 127, "i8"), uniform(2, [3, 2], 0.01, 0.03)], { scheme: "int8" }),
    sample(
      "four bits with zeros, symbolic rows",
      [integers(3, ["T", 6], -7, 7, "i8"), uniform(4, ["T", 3], 0.01, 0.3), integers(5, ["T", 3], -3, 3, "i8")],
      { scheme: "int4" },
      { bindings: { T: 3 } },
    ),
    sample("small floats", [integers(6, [2, 3, 8], 0, 126, "u8"), uniform(7, [2, 3, 2], 0.1, 2)], { scheme: "e4m3" }),
    sample("wide small floats", [integers(8, [8], 128, 250, "u8"), uniform(9, [4], 0.1, 2)], { scheme: "e5m2" }),
    sample("four bits", [integers(10, [3, 16], 0, 15, "u8"), uniform(11, [3, 1], 0.1, 2)], { scheme: "e2m1" }),
    sample("nothing", [values([], [0, 4], "i8"), values([], [0, 2])], { scheme: "int8" }),
  ],
});
