import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Unary } from "../families/unary.ts";
import { numberSamples, unaryOp } from "../families/unary.ts";

export const neg: Unary<"neg"> = unaryOp("neg", {
  summary: "The number with its sign turned.",
  takes: "numbers",
  reference: (x) => -x,
  oracle: { numpy: "-x0" },
  gradient: ({ g, ct }) => g.neg([ct]),
  backends: {
    cpu: cpuKernel("neg", { takes: NUMBERS }),
    coreml: milNative((e, [x]) => e.op("mul", { x, y: -1 }), wrapsAsInt32),
    mlx: mlxCall("negative", { takes: "numbers" }),
  },
  samples: numberSamples,
});
