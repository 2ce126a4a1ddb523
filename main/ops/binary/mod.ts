import { milMod, milModWhole, milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Binary } from "../families/binary.ts";
import { wrappingPairs } from "../families/samples.ts";
import { binaryOp, cpuBinary, edgePairs, positiveBinarySamples } from "../families/binary.ts";

export const mod: Binary<"mod"> = binaryOp("mod", {
  summary:
    "Remainder of a division towards zero: it has the sign of the first, as C's fmod. By zero it is NaN, of whole numbers 0.",
  operands: ["dividend", "divisor"],
  reference: (a, b) => a % b,
  oracle: { numpy: "np.fmod(x0, x1)" },
  // a mod b = a - trunc(a / b) b
  gradient: ({ g, ct, inputs: [a, b] }) => [ct, g.neg([g.mul([ct, g.trunc([g.div([a, b])])])])],
  traits: ["sensitive"],
  backends: {
    cpu: cpuBinary("mod"),
    coreml: milNative((e, [x, y]) => (x.type.dtype === "int32" ? milModWhole(e, x, y) : milMod(e, x, y))),
    mlx: mlxCall("mod", { takes: "numbers" }),
  },
  samples: [...positiveBinarySamples, ...wrappingPairs, ...edgePairs],
});
