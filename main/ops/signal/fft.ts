import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, unsupported } from "../defineOp.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { asBlock } from "../families/complex.ts";
import { at } from "../families/host.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

export type FftNorm = "backward" | "forward" | "ortho";
export interface FftAttrs {
  readonly inverse: boolean;
  /** NumPy's names: which direction is divided by N; ortho divides both by √N. */
  readonly norm: FftNorm;
}

const NORM_CODE: { readonly [N in FftNorm]: number } = { backward: 0, forward: 1, ortho: 2 };

function scaleOf({ inverse, norm }: FftAttrs, n: number): number {
  if (norm === "ortho") return 1 / Math.sqrt(n);
  return (norm === "backward") === inverse ? 1 / n : 1;
}

/** The transform of one row of n complex numbers, by its definition. */
function transform(row: Float64Array, out: Float64Array, n: number, attrs: FftAttrs): void {
  const turn = ((attrs.inverse ? 2 : -2) * Math.PI) / n;
  const scale = scaleOf(attrs, n);
  for (let k = 0; k < n; k++) {
    let [re, im] = [0, 0];
    for (let j = 0; j < n; j++) {
      const angle = turn * ((k * j) % n);
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      re += at(row, j) * c - at(row, n + j) * s;
      im += at(row, j) * s + at(row, n + j) * c;
    }
    out[k] = re * scale;
    out[n + k] = im * scale;
  }
}

export const fft: Op<"fft", FftAttrs, 1> = defineOp({
  name: "fft",
  summary: "Discrete Fourier transform of the last axis, which holds N real parts and then N imaginary parts.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { inverse: attr.bool(), norm: attr.oneOf(["backward", "forward", "ortho"]) },
  infer: ([x]) => {
    const size = x.shape.at(-1);
    if (!isFloat(x.dtype) || typeof size !== "number" || size < 2 || size % 2 !== 0)
      throw new WorkbenchError("IR_SHAPE", `[fft] operand: got ${formatType(x)}, expected ${asBlock(x)}`);
    return tensor(plainDType(x.dtype, "fft"), x.shape);
  },
  reference: ([x], attrs) => {
    const width = x.shape.at(-1) ?? 2;
    const out = new Float64Array(x.data.length);
    for (let row = 0; row < out.length; row += width)
      transform(x.data.subarray(row, row + width), out.subarray(row, row + width), width / 2, attrs);
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    numpy: lines(
      `
def run(x):
    z = x[..., : x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2 :]
    return (np.fft.ifft if a["inverse"] else np.fft.fft)(z, norm=a["norm"])
`.trim(),
      "np.concatenate([run(x0).real, run(x0).imag], -1)",
    ),
  },
  // The transform is linear; its transpose on (re, im) pairs is the other direction with the same scale.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, attrs: { inverse, norm } }) => {
      const swapped = norm === "backward" ? "forward" : "backward";
      return [g.fft([ct], { inverse: !inverse, norm: norm === "ortho" ? norm : swapped })];
    },
  },
  batching: { kind: "rule", rule: ({ g, inputs, attrs }) => g.fft(inputs, attrs) },
  traits: ["pure", "host"],
  backends: {
    cpu: cpuKernel("fft", { takes: REALS, params: ({ inverse, norm }) => ({ inverse, norm: NORM_CODE[norm] }) }),
    coreml: unsupported("Core ML has no Fourier transform: it runs as a host segment between Core ML models"),
    mlx: mlxCall("fft", {
      attrs: ({ inverse, norm }) => ({ inverse, norm: { word: norm } }),
      when: withoutDouble("fft"),
    }),
  },
  samples: withDoubles([
    sample("odd length", [normal(1, [3, 10])], { inverse: false, norm: "backward" }),
    sample("power of two, inverse", [normal(2, [2, 16])], { inverse: true, norm: "backward" }),
    sample("symbolic rows, ortho", [normal(3, ["T", 12])], { inverse: false, norm: "ortho" }, { bindings: { T: 2 } }),
    sample("inverse, forward norm", [normal(4, [14])], { inverse: true, norm: "forward" }),
    sample("forward norm", [normal(5, [1, 6])], { inverse: false, norm: "forward" }),
    sample("one number", [values([3, -2])], { inverse: false, norm: "backward" }),
  ]),
});
