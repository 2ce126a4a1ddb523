/** Functions with rules of their own against JAX's: `custom_vjp`, `custom_jvp` and `custom_vmap` over the same functions. */
import { describe, expect, it } from "vitest";
import { buildGraph, customFunction, evaluate, grad, jvp, scanOver, vmap } from "../../library/index.ts";
import type { Graph, Value } from "../../library/index.ts";
import { jaxEval, oracleMissing, tensor } from "../../testing/oracle.ts";

const X = [0.3, -1.2, 0.7];
const Y = [1.5, 0.4, -2];
const first = (values: readonly Value[]): Value => values[0]!;

/** x y², with gradients that are no derivatives, so that only the rule gives them. */
const ours = customFunction({
  name: "clipped",
  forward: (g, x, y) => [g.mul([x, g.mul([y, y])])],
  vjp: ({ g, inputs: [x, y], outputs: [out], cotangents: [ct] }) =>
    x && y && out && ct ? [g.mul([ct, g.tanh([y])]), g.mul([ct, g.mul([out, x])])] : [undefined, undefined],
});
const JAX_VJP = `
clipped = jax.custom_vjp(lambda x, y: x * y * y)
clipped.defvjp(lambda x, y: (x * y * y, (x, y)), lambda r, ct: (ct * jnp.tanh(r[1]), ct * (r[0] * r[1] * r[1]) * r[0]))
`.trim();

/** exp(x) whose rule says sin instead of exp: its own derivatives are those of the rule. */
const forwards = customFunction({
  name: "forwards",
  forward: (g, x) => [g.exp([x])],
  jvp: ({ g, inputs: [x], outputs: [y], tangents: [t] }) => [x && y && t && g.mul([g.mul([g.sin([x]), y]), t])],
});
const JAX_JVP = `
forwards = jax.custom_jvp(jnp.exp)
forwards.defjvp(lambda xs, ts: (forwards(xs[0]), jnp.sin(xs[0]) * forwards(xs[0]) * ts[0]))
`.trim();

const summed = (build: (g: Parameters<Parameters<typeof buildGraph>[1]>[0], x: Value, y: Value) => Value): Graph =>
  buildGraph("test", (g) => {
    const made = build(g, g.input("x", "f64[3]"), g.input("y", "f64[3]"));
    g.output("y", g.reduce([made], { kind: "sum", axes: [0] }));
  });

async function expectSame(got: readonly Float64Array[], expression: readonly string[]): Promise<void> {
  const inputs = { x: tensor("f64", [3], X), y: tensor("f64", [3], Y), t: tensor("f64", [3], [1, -2, 0.5]) };
  const wanted = await jaxEval(expression.join("\n\n"), inputs);
  expect(got.length).toBe(wanted.length);
  got.forEach((data, i) =>
    data.forEach((value, k) => expect(Math.abs(value - wanted[i]!.data[k]!)).toBeLessThan(1e-12)),
  );
}

const missing = oracleMissing();
describe.skipIf(missing)(`custom functions against JAX ${missing ?? ""}`, () => {
  it("custom_vjp, alone and inside a scan", { timeout: 120_000 }, async () => {
    const alone = summed((g, x, y) => first(ours(g, [x, y])));
    const carried = summed((g, x, y) => {
      const { carry } = scanOver(g, { carry: [x], fixed: [y], length: 3 }, (h, turn) => ({
        carry: [h.sin([first(ours(h, [...turn.carry, ...turn.fixed]))])],
        rows: [],
      }));
      return first(carry);
    });
    const made = [alone, carried].flatMap((graph) => {
      const { outputs } = evaluate(grad(graph, { of: "y", wrt: ["x", "y"] }), { x: X, y: Y });
      return ["gradient.x", "gradient.y"].map((name) => outputs[name]!.data);
    });
    await expectSame(made, [
      JAX_VJP,
      "turns = lambda x, y: jax.lax.scan(lambda c, _: (jnp.sin(clipped(c, y)), None), x, None, length=3)[0].sum()",
      "(*jax.grad(lambda x, y: clipped(x, y).sum(), (0, 1))(x, y), *jax.grad(turns, (0, 1))(x, y))",
    ]);
  });

  it("custom_jvp: both ways, and derivatives of derivatives", { timeout: 120_000 }, async () => {
    const graph = summed((g, x, y) => g.mul([first(forwards(g, [x])), y]));
    const gradient = grad(graph, { of: "y", wrt: ["x"] });
    const moved = jvp(graph, { of: ["y"], wrt: ["x"] });
    const second = jvp(gradient, { of: ["gradient.x"], wrt: ["x"] });
    const at = { x: X, y: Y };
    const along = { ...at, "tangent.x": [1, -2, 0.5] };
    await expectSame(
      [
        evaluate(gradient, at).outputs["gradient.x"]!.data,
        evaluate(moved, along).outputs["tangent.y"]!.data,
        evaluate(second, along).outputs["tangent.gradient.x"]!.data,
      ],
      [
        JAX_JVP,
        "f = lambda x: (forwards(x) * y).sum()",
        "(jax.grad(f)(x), jax.jvp(f, (x,), (t,))[1], jax.jvp(jax.grad(f), (x,), (t,))[1])",
      ],
    );
  });

  it("custom_vjp and custom_vmap over items", { timeout: 120_000 }, async () => {
    const rule = customFunction({
      name: "shifted",
      forward: (g, x) => [g.neg([x])],
      vmap: ({ g, inputs: [x] }) =>
        x === undefined ? [] : [g.cumsum([x], { axis: 0, exclusive: true, reverse: false })],
    });
    const graph = summed((g, x, y) =>
      g.mul([g.expand([first(rule(g, [g.reduce([x], { kind: "sum", axes: [0] })]))], { shape: [3] }), y]),
    );
    const rows = [...X, ...Y];
    const batched = evaluate(vmap(graph, { size: 2, inAxes: { x: 0 } }), { x: rows, y: Y }).outputs["y"]!.data;
    const derived = vmap(
      grad(
        summed((g, x, y) => first(ours(g, [x, y]))),
        { of: "y", wrt: ["x", "y"] },
      ),
      {
        size: 2,
        inAxes: { x: 0 },
      },
    );
    const { outputs } = evaluate(derived, { x: rows, y: Y });
    await expectSame(
      [batched, outputs["gradient.x"]!.data, outputs["gradient.y"]!.data],
      [
        JAX_VJP,
        "shifted = jax.custom_batching.custom_vmap(lambda x: -x)",
        "shifted.def_vmap(lambda size, batched, x: (jnp.cumsum(x, 0) - x, True))",
        "rows = jnp.stack([x, y])",
        "both = jax.vmap(jax.grad(lambda x, y: clipped(x, y).sum(), (0, 1)), (0, None))(rows, y)",
        "(jax.vmap(lambda r: (shifted(r.sum()) * y).sum())(rows), *both)",
      ],
    );
  });
});
