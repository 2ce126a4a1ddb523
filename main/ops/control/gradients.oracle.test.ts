// Derivatives of `if`, `while` and `scan` against JAX: `lax.cond` and `lax.scan` in both modes,
// `lax.while_loop` in forward mode, and in reverse mode a counted loop, which JAX needs for it.
import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { tangentGraph } from "../../autodiff/jvp.ts";
import { cotangentName, gradientGraph, gradientName } from "../../autodiff/vjp.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { jaxJvp, jaxVjp, oracleMissing, tensor } from "../../testing/oracle.ts";
import { evaluate } from "../evaluate.ts";
import { opOf } from "../index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "../sampleData.ts";

interface Case {
  readonly op: "if" | "scan" | "while";
  readonly title: string;
  /** Operands with gradients, and the results that have them. */
  readonly wrt: readonly number[];
  readonly of: readonly number[];
  readonly jax: string;
}

const BOTH_WAYS: readonly Case[] = [
  {
    op: "if",
    title: "either branch",
    wrt: [1, 2],
    of: [0],
    jax: "jax.lax.cond(FLAG, lambda x, y: jnp.tanh(x) * y, lambda x, y: x - y, x1, x2)",
  },
  {
    op: "if",
    title: "two results, the other branch divides by zero",
    wrt: [1, 2],
    of: [0, 1],
    jax: "jax.lax.cond(FLAG, lambda x, y: (y / (x - x), x), lambda x, y: (x * y, jnp.log(x)), x1, x2)",
  },
  {
    op: "if",
    title: "symbolic, an operand handed through",
    wrt: [1, 2],
    of: [0, 1],
    jax: "jax.lax.cond(FLAG, lambda x, y: (y, x + y), lambda x, y: (x, y), x1, x2)",
  },
  {
    op: "while",
    title: "counted, an operand that stays",
    wrt: [1, 2],
    of: [1],
    jax: "jax.lax.fori_loop(0, 4, lambda i, x: jnp.tanh(x * x2 + x2), x1)",
  },
  {
    op: "while",
    title: "stopped by its limit, values change places",
    wrt: [0, 1],
    of: [0, 1],
    jax: "jax.lax.fori_loop(0, 5, lambda i, c: (c[1], 0.5 * c[0] + c[1]), (x0, x1))",
  },
  {
    op: "scan",
    title: "a carried value, a fixed one, rows",
    wrt: [0, 1, 2],
    of: [0, 1],
    jax: "jax.lax.scan(lambda c, x: (jnp.tanh(c * x1 + x), c * x), x0, x2)",
  },
  {
    op: "scan",
    title: "backwards, the rows of two",
    wrt: [0, 1, 2, 3],
    of: [0, 1, 2, 3],
    jax: "(lambda c, m: (*c, *m))(*jax.lax.scan(lambda c, x: ((c[1], 0.5 * c[0] + x[0] * x[1]), (c[0] - x[1], c[1].sum())), (x0, x1), (x2, x3), reverse=True))",
  },
  {
    op: "scan",
    title: "symbolic, backwards",
    wrt: [0, 1],
    of: [0, 1],
    jax: "jax.lax.scan(lambda c, x: (jnp.tanh(c + x), c), x0, x1, reverse=True)",
  },
  {
    op: "scan",
    title: "checkpoints, more turns than stand one after the other",
    wrt: [0, 1, 2],
    of: [0, 1],
    jax: "jax.lax.scan(lambda c, x: (jnp.tanh(c * x1 + x), c * x), x0, x2)",
  },
  {
    op: "scan",
    title: "one inside the other",
    wrt: [0, 1],
    of: [0, 1],
    jax: "jax.lax.scan(lambda c, x: (lambda d: (d[0], d[1].sum()))(jax.lax.scan(lambda e, y: (jnp.tanh(e + y), e * y), c, x)), x0, x1)",
  },
];
const FORWARDS: readonly Case[] = [
  ...BOTH_WAYS,
  {
    op: "while",
    title: "until the values say so, without a limit",
    wrt: [0],
    of: [0],
    jax: "jax.lax.while_loop(lambda x: x.min() < 50, lambda x: 1.5 * x + 0.25, x0)",
  },
  {
    op: "while",
    title: "symbolic, over the rows of a table",
    wrt: [1, 2],
    of: [1],
    jax: "jax.lax.while_loop(lambda c: c[0] < x2.shape[0], lambda c: (c[0] + 1, jnp.tanh(c[1] + x2[c[0]])), (0, x1))[1]",
  },
];

const wave = (x: HostTensor, salt: number): HostTensor => ({
  ...x,
  data: x.data.map((_, i) => Math.sin(1 + 3.7 * i + salt)),
});
const wide = (x: HostTensor) => tensor("f64", x.shape, x.data);

function prepare({ op, title, wrt, of, jax }: Case) {
  const sample = opOf(op)!.samples.find((one) => one.title === title)!;
  const graph = sampleGraph(opOf(op)!, sample);
  const tensors = sampleTensors(sample);
  const run = sampleRun(sample, tensors);
  const names = { wrt: wrt.map(inputName), of: of.map(outputName) };
  // JAX does not differentiate with respect to a truth value.
  const expression = jax.replace("FLAG", tensors[0]!.data[0] === 0 ? "False" : "True");
  const given = Object.fromEntries(wrt.map((i) => [inputName(i), tensors[i]!]));
  return { graph, run, names, expression, given };
}

function expectEqual(got: HostTensor | undefined, want: { readonly data: ArrayLike<number> } | undefined): void {
  expect(got!.data.length).toBe(want!.data.length);
  got!.data.forEach((x, i) => expect(Math.abs(x - want!.data[i]!)).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(x))));
}

const missing = oracleMissing();
describe.skipIf(missing)(`gradients of control flow against JAX ${missing ?? ""}`, () => {
  it.each(BOTH_WAYS.map((one) => [`${one.op}: ${one.title}`, one] as const))("reverse mode, %s", async (_, one) => {
    const { graph, run, names, expression, given } = prepare(one);
    const primal = finish(evaluate(graph, run)).outputs;
    const cotangents = names.of.map((name, i) => wave(primal[name]!, i));
    const named = Object.fromEntries(names.of.map((name, i) => [cotangentName(name), cotangents[i]!]));
    const { outputs } = finish(evaluate(gradientGraph(graph, names), { ...run, inputs: { ...run.inputs, ...named } }));
    const operands = Object.fromEntries(Object.entries(given).map(([name, x]) => [name, wide(x)]));
    const { gradients } = await jaxVjp(expression, operands, cotangents.map(wide));
    for (const name of names.wrt) expectEqual(outputs[gradientName(name)], gradients[name]);
  });

  it.each(FORWARDS.map((one) => [`${one.op}: ${one.title}`, one] as const))("forward mode, %s", async (_, one) => {
    const { graph, run, names, expression, given } = prepare(one);
    const directions = Object.fromEntries(Object.entries(given).map(([name, x], i) => [name, wave(x, i)]));
    const named = Object.fromEntries(Object.entries(directions).map(([name, x]) => [`tangent.${name}`, x]));
    const { outputs } = finish(evaluate(tangentGraph(graph, names), { ...run, inputs: { ...run.inputs, ...named } }));
    const sent = (all: Readonly<Record<string, HostTensor>>) =>
      Object.fromEntries(Object.entries(all).map(([name, x]) => [name, wide(x)]));
    const { tangent } = await jaxJvp(expression, sent(given), sent(directions));
    names.of.forEach((name, i) => expectEqual(outputs[`tangent.${name}`], tangent[i]));
  });
});
