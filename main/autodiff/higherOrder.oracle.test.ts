/** Derivatives of derivatives against JAX, in both modes: products of elements that are zero, where quotients fail, and scans. */
import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Shape } from "../ir/dim.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { evaluate } from "../ops/evaluate.ts";
import { scanOver } from "../ops/families/turns.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { OracleTensor } from "../testing/oracle.ts";
import { jaxEval, oracleMissing, tensor as sent } from "../testing/oracle.ts";
import { tangentGraph } from "./jvp.ts";
import { cotangentName, gradientGraph } from "./vjp.ts";

interface Case {
  readonly title: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
  /** The sizes of the graph's input, where they are not those of the data. */
  readonly symbolic?: Shape;
  readonly build: (g: OpBuilder, x: Value) => Value;
  readonly jax: string;
}

const over = (axes: readonly number[]): Pick<Case, "build" | "jax"> => ({
  build: (g, x) => g.reduce([x], { kind: "prod", axes }),
  jax: `lambda x: jnp.prod(x, (${axes.map((axis) => `${axis},`).join("")}))`,
});
const line = (title: string, data: readonly number[]): Case => ({ title, data, shape: [data.length], ...over([0]) });

const CASES: readonly Case[] = [
  line("no zero", [2, -1, 3]),
  line("one zero", [2, 0, 3]),
  line("two zeros", [0, 5, 0, 7, -2]),
  line("nothing but zeros", [0, 0, 0]),
  line("one element", [4]),
  { ...line("a length that only the run knows", [2, 0, 3, 0.5]), symbolic: ["T"] },
  {
    title: "the outer axes of three",
    shape: [3, 2, 2],
    data: [1, 0, 3, -2, 5, 6, 0, 8, 0.5, 2, 3, 4],
    ...over([2, 0]),
  },
  {
    title: "a function of it",
    shape: [2, 3],
    data: [0.3, 0, -0.7, 1.1, 0.4, 0.2],
    build: (g, x) => g.sin([g.reduce([g.add([g.mul([x, x]), x])], { kind: "prod", axes: [1] })]),
    jax: "lambda x: jnp.sin(jnp.prod(x * x + x, 1))",
  },
  {
    title: "a pool by product",
    shape: [1, 1, 3, 3],
    data: [2, 0, 3, 4, 0, -1, 0.5, 6, 1],
    build: (g, x) => g.pool([x], { kind: "prod", kernel: [2, 2], strides: [1, 1], padding: [0, 0] }),
    jax: "lambda x: x[..., :2, :2] * x[..., :2, 1:] * x[..., 1:, :2] * x[..., 1:, 1:]",
  },
];

/** What is carried is squeezed again and again, and the rows that come out depend on it. */
const scanned = (
  title: string,
  turns: number,
  more: { readonly reverse?: boolean; readonly checkpoints?: number },
): Case => ({
  title,
  shape: [turns, 2],
  data: Array.from({ length: 2 * turns }, (_, i) => Math.cos(1.3 * i)),
  build: (g, x) => {
    const start = g.constant(hostTensor("f64", [2], [0.4, -0.6]));
    const made = scanOver(g, { carry: [start], rows: [x], ...more }, (h, { carry: [c], rows: [row] }) => {
      const next = h.tanh([h.add([h.mul([c!, row!]), row!])]);
      return { carry: [next], rows: [h.mul([next, h.sin([c!])])] };
    });
    return made.rows[0]!;
  },
  jax: `lambda x: jax.lax.scan(lambda c, r: (lambda n: (n, n * jnp.sin(c)))(jnp.tanh(c * r + r)), jnp.array([0.4, -0.6]), x, reverse=${more.reverse === true ? "True" : "False"})[1]`,
});

const SCANS: readonly Case[] = [
  scanned("a scan", 3, {}),
  scanned("a scan backwards, with checkpoints", 5, { reverse: true, checkpoints: 2 }),
];

const waves = (shape: readonly number[], phase: number): HostTensor =>
  hostTensor(
    "f64",
    shape,
    Array.from({ length: sizeOf(shape) }, (_, i) => Math.sin(1 + 3.7 * i + phase)),
  );

function graphOf({ shape, symbolic, build }: Case): Graph {
  const builder = new GraphBuilder(opTable, "product");
  const x = builder.input("x", tensor("f64", symbolic ?? shape));
  builder.output("y", build(typedBuilder(builder), x));
  return builder.finish();
}

/** A gradient with respect to x as the output `d1.x`, `d2.x` …, in the direction that is given as its cotangent. */
const back = (graph: Graph, of: string, order: number): Graph =>
  gradientGraph(graph, { of: [of], wrt: ["x"], prefix: `d${order}` });
const along = (graph: Graph, of: string): Graph => tangentGraph(graph, { of: [of], wrt: ["x"] });

const missing = oracleMissing();
describe.skipIf(missing)(`derivatives of derivatives against JAX ${missing ?? ""}`, () => {
  it.each([...CASES, ...SCANS].map((one) => [one.title, one] as const))("%s", async (_, one) => {
    const graph = graphOf(one);
    const x = hostTensor("f64", one.shape, one.data);
    const y = finish(evaluate(graph, { inputs: { x } })).outputs["y"]!;
    const [c, v, w] = [waves(y.shape, 0), waves(one.shape, 1), waves(one.shape, 2)];
    const first = back(graph, "y", 1);
    const second = back(first, "d1.x", 2);
    const ways: readonly (readonly [order: number, way: string, made: Graph, output: string, direction: HostTensor])[] =
      [
        [1, "back", first, "d1.x", v],
        [2, "back, back", second, "d2.x", v],
        [2, "back, forth", along(first, "d1.x"), "tangent.d1.x", v],
        [3, "back, back, back", back(second, "d2.x", 3), "d3.x", w],
        [3, "back, back, forth", along(second, "d2.x"), "tangent.d2.x", w],
      ];

    const jax = `
f = ${one.jax}
first = jax.grad(lambda x: jnp.sum(f(x) * c))
second = lambda x: jax.jvp(first, (x,), (v,))[1]
jax.jit(lambda x: (first(x), second(x), jax.jvp(second, (x,), (w,))[1]))(x)`.trim();
    const wide = (t: HostTensor): OracleTensor => sent("f64", t.shape, t.data);
    const wanted = await jaxEval(jax, { x: wide(x), c: wide(c), v: wide(v), w: wide(w) });
    const given = { x, [cotangentName("y")]: c, [cotangentName("d1.x")]: v, [cotangentName("d2.x")]: w };
    for (const [order, way, made, output, direction] of ways) {
      const got = finish(evaluate(made, { inputs: { ...given, "tangent.x": direction } })).outputs[output]!;
      wanted[order - 1]!.data.forEach((value, i) => {
        const mine = got.data[i]!;
        if (!(Math.abs(mine - value) <= 1e-10 * (1 + Math.abs(value))))
          expect.fail(`${way}, element ${i}: got ${mine}, JAX says ${value}`);
      });
    }
  });
});
