/**
 * The references against implementations we did not write: NumPy, SciPy and JAX in float64, by the
 * expression of each op.
 */
import { describe, expect, it } from "vitest";
import { finish } from "../ir/steps.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { isFloat } from "../ir/dtype.ts";
import { jaxEval, numpyEval, oracleMissing, tensor } from "../testing/oracle.ts";
import type { OracleInputs, OracleTensor } from "../testing/oracle.ts";
import { evaluate } from "./evaluate.ts";
import { OPS, opOf } from "./index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "./sampleData.ts";

/** Full precision, but for half tensors: what is written into one is rounded. */
const sent = (x: HostTensor): OracleTensor =>
  tensor(isFloat(x.dtype) && x.dtype !== "f16" ? "f64" : x.dtype, x.shape, x.data);

const missing = oracleMissing();
describe.skipIf(missing)(`references against NumPy, SciPy and JAX ${missing ?? ""}`, () => {
  const cases = Object.keys(OPS).flatMap((name) => {
    const op = opOf(name)!;
    return op.samples.map((sample) => [`${name}: ${sample.title}`, op, sample] as const);
  });
  it.each(cases)("%s", async (_, op, sample) => {
    const graph = sampleGraph(op, sample);
    const tensors = sampleTensors(sample);
    const results = Object.values(finish(evaluate(graph, sampleRun(sample, tensors))).outputs);
    const bound = JSON.parse(JSON.stringify(sample.attrs), (_key, value: unknown) =>
      typeof value === "string" && sample.bindings?.[value] !== undefined ? sample.bindings[value] : value,
    ) as OracleInputs;
    const xs = tensors.map(sent);
    const inputs: OracleInputs = {
      ...Object.fromEntries(xs.map((x, i) => [inputName(i), x])),
      xs,
      a: { ...(bound as Record<string, OracleInputs[string]>), title: sample.title },
      s: [...results[0]!.shape],
    };
    const { oracle } = op;
    const expected = await ("numpy" in oracle ? numpyEval(oracle.numpy, inputs) : jaxEval(oracle.jax, inputs));
    expect(results.map((result) => result.shape)).toEqual(expected.map((value) => value.shape));
    results.forEach((result, i) => {
      const integer = !isFloat(result.dtype);
      result.data.forEach((value, k) => {
        const wanted = expected[i]!.data[k]!;
        const limit = integer ? 0 : 1e-10 * (1 + Math.abs(wanted));
        if (!Object.is(value, wanted) && !(Math.abs(value - wanted) <= limit))
          expect.fail(`output ${i} element ${k}: got ${value}, ${"numpy" in oracle ? "NumPy" : "JAX"} says ${wanted}`);
      });
    });
  });
});
