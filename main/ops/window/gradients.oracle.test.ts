// Gradients of convolutions, their transposes, pools and general products against JAX: every sample, ties too.
import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { cotangentName, gradientGraph, gradientName } from "../../autodiff/vjp.ts";
import { isFloat } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { jaxVjp, oracleMissing, tensor } from "../../testing/oracle.ts";
import { evaluate } from "../evaluate.ts";
import { opOf } from "../index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "../sampleData.ts";

const NAMES = ["conv", "conv_transpose", "pool", "dot_general"] as const;

/** By JAX, where the op's own oracle has no gradient there. Attributes are in the text: only tensors are operands. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  // Zeros between the places, the mirrored kernel, channels of each group in each other's place.
  conv_transpose: `
letters = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}[x0.ndim]
n = a["groups"]
w = x1.reshape(n, x1.shape[0] // n, *x1.shape[1:]).swapaxes(1, 2)
w = jnp.flip(w.reshape(-1, *w.shape[2:]), range(2, x1.ndim))
sides = [(d * (k - 1) - p, d * (k - 1) - p + e) for d, k, p, e in zip(a["dilations"], x1.shape[2:], a["padding"], a["outputPadding"])]
jax.lax.conv_general_dilated(x0, w.astype(x0.dtype), [1] * len(sides), sides, lhs_dilation=a["strides"], rhs_dilation=a["dilations"], dimension_numbers=letters, feature_group_count=n)`,
  // Products and ties: the taps of all windows as an axis. JAX's own gradient of a largest value
  // goes to the first, too.
  pool: `
start, join = {"max": (-jnp.inf, jax.lax.max), "min": (jnp.inf, jax.lax.min), "sum": (0.0, jax.lax.add), "mean": (0.0, jax.lax.add), "prod": (1.0, None)}[a["kind"]]
sides = [(0, 0), (0, 0), *((p, p) for p in a["padding"])]
x = jnp.pad(x0, sides, constant_values=start)
windows = [jax.lax.slice(x, [0, 0, *t], [*x.shape[:2], *(i + (m - 1) * q + 1 for i, m, q in zip(t, s[2:], a["strides"]))], [1, 1, *a["strides"]]) for t in np.ndindex(*a["kernel"])]
jnp.prod(jnp.stack(windows), 0) if a["kind"] == "prod" else jax.lax.reduce_window(x0, start, join, [1, 1, *a["kernel"]], [1, 1, *a["strides"]], sides) / (np.prod(a["kernel"]) if a["kind"] == "mean" else 1)`,
};

const missing = oracleMissing();
describe.skipIf(missing)(`gradients of windows against JAX ${missing ?? ""}`, () => {
  const cases = NAMES.flatMap((name) =>
    opOf(name)!.samples.map((sample) => [`${name}: ${sample.title}`, name, sample] as const),
  );
  it.each(cases)("%s", async (_, name, sample) => {
    const graph = sampleGraph(opOf(name)!, sample);
    const tensors = sampleTensors(sample);
    const run = sampleRun(sample, tensors);
    const y = finish(evaluate(graph, run)).outputs[outputName(0)]!;
    const cotangent = hostTensor(
      y.dtype,
      y.shape,
      y.data.map((_v, i) => Math.sin(1 + 3.7 * i)),
    );
    const wrt = tensors.map((_t, i) => inputName(i));
    const gradient = gradientGraph(graph, { of: [outputName(0)], wrt });
    const given = { ...run, inputs: { ...run.inputs, [cotangentName(outputName(0))]: cotangent } };
    const got = finish(evaluate(gradient, given)).outputs;
    const { oracle } = opOf(name)!;
    const expression = EXPRESSIONS[name] ?? ("jax" in oracle ? oracle.jax : "");
    const preamble = `a = ${JSON.stringify(sample.attrs)}\ns = ${JSON.stringify(y.shape)}\n`;
    const wide = (x: typeof y) => tensor("f64", x.shape, x.data);
    const { gradients } = await jaxVjp(
      preamble + expression.trim(),
      Object.fromEntries(tensors.map((x, i) => [inputName(i), wide(x)])),
      [wide(cotangent)],
    );
    for (const x of wrt) {
      const [mine, theirs] = [got[gradientName(x)]!, gradients[x]!];
      expect(mine.shape).toEqual(theirs.shape);
      const limit = isFloat(mine.dtype) && mine.dtype !== "f16" ? 1e-10 : 1e-3;
      const wrong = mine.data.findIndex(
        (value, i) => !(Math.abs(value - theirs.data[i]!) <= limit * (1 + Math.abs(value))),
      );
      expect(wrong, `${x} element ${wrong}: got ${mine.data[wrong]}, JAX says ${theirs.data[wrong]}`).toBe(-1);
    }
  });
});
