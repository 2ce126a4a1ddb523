import { cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ON_HOST, countOf } from "../families/complex.ts";
import { at } from "../families/host.ts";
import { normal, sample, values } from "../families/samples.ts";

export const to_complex: Op<"to_complex", NoAttrs, 1> = defineOp({
  name: "to_complex",
  summary:
    "Complex numbers of the type c64 from the layout that ops compute with: N real parts and then N imaginary parts along the last axis.",
  arity: 1,
  operands: ["block"],
  outputs: "one",
  attributes: {},
  infer: ([x]) => {
    const count = countOf("to_complex", x);
    if (x.dtype !== "f32")
      throw new WorkbenchError(
        "IR_TYPE",
        `[to_complex] operand: got ${formatType(x)}, expected f32, of which c64 has two`,
        {
          hint: "Insert a cast.",
        },
      );
    return tensor("c64", [...x.shape.slice(0, -1), count]);
  },
  reference: ([x]) => {
    const count = at(x.shape, x.shape.length - 1) / 2;
    const made = x.data.map((_, i) => {
      const pair = Math.floor(i / 2);
      return at(x.data, Math.floor(pair / count) * 2 * count + (pair % count) + (i % 2) * count);
    });
    return hostTensor("c64", [...x.shape.slice(0, -1), count], made);
  },
  oracle: { numpy: "np.ascontiguousarray(np.stack(np.split(x0, 2, -1), -1), np.float64).view(np.complex128)[..., 0]" },
  // It only moves parts: the cotangent of a complex number is that of its parts, as a number.
  gradient: { kind: "vjp", rule: ({ g, ct }) => [g.from_complex([ct])] },
  batching: { kind: "rule", rule: ({ g, inputs }) => g.to_complex(inputs) },
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("to_complex", { takes: ["f32"] }),
    coreml: COMPLEX_ON_HOST,
    mlx: mlxCall("to_complex"),
  },
  samples: [
    sample("odd count", [normal(1, [3, 10])], {}),
    sample("symbolic rows", [normal(2, ["T", 2, 4])], {}, { bindings: { T: 3 } }),
    sample("infinities", [values([Infinity, 0, 1, 0, -Infinity, -1])], {}, { differentiable: false }),
    sample("nothing", [values([], [0, 4])], {}),
  ],
});
