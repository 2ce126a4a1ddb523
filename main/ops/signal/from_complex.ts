import { cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op, SampleInput } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ON_HOST } from "../families/complex.ts";
import { at } from "../families/host.ts";
import { sample } from "../families/samples.ts";

const complex = (shape: Shape, fill: SampleInput["fill"]): SampleInput => ({ type: tensor("c64", shape), fill });

export const from_complex: Op<"from_complex", NoAttrs, 1> = defineOp({
  name: "from_complex",
  summary:
    "Complex numbers of the type c64 in the layout that ops compute with: N real parts and then N imaginary parts along the last axis, in f32.",
  arity: 1,
  operands: ["z"],
  outputs: "one",
  attributes: {},
  infer: ([z]) => {
    const count = z.shape.at(-1);
    if (z.dtype !== "c64" || typeof count !== "number")
      throw new WorkbenchError(
        "IR_TYPE",
        `[from_complex] operand: got ${formatType(z)}, expected c64 [.., N] with a known N`,
      );
    return tensor("f32", [...z.shape.slice(0, -1), 2 * count]);
  },
  reference: ([z]) => {
    const count = at(z.shape, z.shape.length - 1);
    const made = z.data.map((_, i) => {
      const [row, place] = [Math.floor(i / (2 * count)), i % (2 * count)];
      return at(z.data, 2 * (row * count + (place % count)) + Number(place >= count));
    });
    return hostTensor("f32", [...z.shape.slice(0, -1), 2 * count], made);
  },
  oracle: { numpy: "np.concatenate([np.real(x0), np.imag(x0)], -1)" },
  gradient: { kind: "vjp", rule: ({ g, ct }) => [g.to_complex([ct])] },
  batching: { kind: "rule", rule: ({ g, inputs }) => g.from_complex(inputs) },
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("from_complex", { takes: ["c64"] }),
    coreml: COMPLEX_ON_HOST,
    mlx: mlxCall("from_complex", { takes: "any" }),
  },
  samples: [
    sample("odd count", [complex([3, 5], { kind: "normal", seed: 1 })], {}),
    sample("symbolic rows", [complex(["T", 2, 2], { kind: "normal", seed: 2 })], {}, { bindings: { T: 3 } }),
    sample(
      "infinities",
      [complex([3], { kind: "values", data: [Infinity, 0, 1, -Infinity, 0, -1] })],
      {},
      { differentiable: false },
    ),
    sample("nothing", [complex([0, 2], { kind: "values", data: [] })], {}),
  ],
});
