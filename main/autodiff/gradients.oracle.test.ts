/**
 * Gradients against JAX: a tenth of the five hundred random graphs, and every op that JAX has, on its own samples. What JAX does not
 * have is listed here with the reason; central differences hold those (conformance.test.ts).
 */
import { describe, expect, it } from "vitest";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { evaluate } from "../ops/evaluate.ts";
import { OPS, opOf } from "../ops/index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import type { NumericTensor } from "../testing/oracle.ts";
import { oracleMissing } from "../testing/oracle.ts";
import { jaxGradients } from "../testing/jaxGradients.ts";
import { differentiableCase, STEPS } from "../testing/randomDifferentiable.ts";
import { valueAndGrad } from "./transforms.ts";
import { gradientGraph } from "./vjp.ts";

const EVERY = 10;
const GRAPHS = 500;
const missing = oracleMissing();

type Gradients = Readonly<Record<string, HostTensor>>;

function compare(made: Gradients, wanted: Readonly<Record<string, NumericTensor>>, told: string): void {
  for (const [name, { data }] of Object.entries(wanted))
    data.forEach((value, i) => {
      const mine = made[`gradient.${name}`]!.data[i]!;
      if (!(Math.abs(mine - value) <= 1e-10 * (1 + Math.abs(value))))
        expect.fail(`${told}: gradient of ${name}, element ${i}: got ${mine}, JAX says ${value}`);
    });
}

describe.skipIf(missing)(`gradients against JAX ${missing ?? ""}`, () => {
  it("of random graphs", { timeout: 180_000 }, async () => {
    const seen = new Set<string>();
    const wrt = ["x", "z"];
    for (let seed = 0; seed < GRAPHS; seed += EVERY) {
      const { graph, inputs, steps } = differentiableCase(seed);
      for (const step of steps) seen.add(step);
      const made = finish(evaluate(valueAndGrad(graph, { of: "y", wrt }), { inputs })).outputs;
      const cotangents = [hostTensor("f64", [], [1])];
      compare(made, await jaxGradients(graph, { inputs, cotangents, wrt }), `seed ${seed}, ${steps.join(", ")}`);
    }
    expect([...seen].toSorted()).toEqual(Object.keys(STEPS).toSorted());
  });
});

const IN_PLACE = "its expression writes into arrays, which JAX cannot differentiate";
/** Ops with a gradient that is not asked of JAX here, and why. Their values have an outside oracle as all others. */
const WITHOUT: Readonly<Record<string, string>> = {
  floor: "it is flat between its jumps: its gradient is zero",
  fake_quantize: "the gradient goes straight through its rounding",
  fake_quantize_lsq: "the gradient goes straight through its rounding",
  from_complex: "its operand is complex: complex.test.ts differentiates through it",
  round: "quantized nets take the gradient of its operand for it",
  stop_gradient: "no gradient flows back through it: that is its meaning",
  attention_block: IN_PLACE,
  gated_delta: IN_PLACE,
  kv_append: IN_PLACE,
  rope: IN_PLACE,
  scatter_add: IN_PLACE,
  scatter_elements: IN_PLACE,
  scatter_nd: IN_PLACE,
  short_conv_cached: "its expression takes windows of NumPy that JAX does not have",
  split: "its expression sums a list, which JAX takes for no array",
};

/** JAX compiles each anew. */
const MOST_SAMPLES = 2;

/** Of every op with a gradient the first samples whose operands are no halves and not packed: those are rounded on the way. */
const SAMPLES = Object.keys(OPS).flatMap((name) => {
  const op = opOf(name)!;
  if (op.gradient.kind === "nondifferentiable") return [];
  const own = op.samples.flatMap((sample) => {
    const wrt = sample.inputs.flatMap(({ type }, i) => (isFloat(type.dtype) ? [inputName(i)] : []));
    const isExact = sample.inputs.every(({ type }) => !isPacked(type.dtype) && type.dtype !== "f16");
    return sample.differentiable === false || !isExact || wrt.length === 0 ? [] : [{ name, op, sample, wrt }];
  });
  // Recurrent layers are hundreds of small products, and a picture is as many steps.
  return own.slice(0, ["gaussian_splat_render", "gru", "lstm", "rnn"].includes(name) ? 1 : MOST_SAMPLES);
});

const waves = (of: HostTensor, salt: number): HostTensor =>
  hostTensor(
    "f64",
    of.shape,
    of.data.map((_, i) => Math.sin(1 + 3.7 * i + salt)),
  );

describe.skipIf(missing)(`gradients of ops against JAX ${missing ?? ""}`, () => {
  const ops = [...new Set(SAMPLES.map(({ name }) => name))];
  it.each(ops.filter((name) => !(name in WITHOUT)))("%s", { timeout: 180_000 }, async (own) => {
    for (const { op, sample, wrt } of SAMPLES.filter(({ name }) => name === own)) {
      const graph: Graph = sampleGraph(op, sample);
      const run = sampleRun(sample, sampleTensors(sample));
      const outputs = Object.entries(finish(evaluate(graph, run)).outputs);
      const of = outputs.flatMap(([name, { dtype }]) => (isFloat(dtype) ? [name] : []));
      if (of.length < outputs.length) continue;
      const cotangents = outputs.map(([, value], i) => waves(value, i));
      const seeds = Object.fromEntries(of.map((name, i) => [`cotangent.${name}`, cotangents[i]!]));
      const made = finish(evaluate(gradientGraph(graph, { of, wrt }), { ...run, inputs: { ...run.inputs, ...seeds } }));
      const { inputs, bindings } = run;
      compare(made.outputs, await jaxGradients(graph, { inputs, cotangents, wrt, bindings }), sample.title);
    }
  });

  it("are all but those that are listed", () => {
    const all = Object.keys(OPS).filter((name) => opOf(name)!.gradient.kind !== "nondifferentiable");
    expect(all.filter((name) => !ops.includes(name) || name in WITHOUT).toSorted()).toEqual(
      Object.keys(WITHOUT).toSorted(),
    );
  });
});
