/** The public transforms: what they give, that any takes what another gives, how large it gets, and what is refused. */
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { parseType } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { tangentGraph as jvp } from "./jvp.ts";
import { grad, hvp, jacfwd, jacrev, valueAndGrad } from "./transforms.ts";
import { gradientGraph as vjp } from "./vjp.ts";
import { mapGraph as vmap } from "./vmap.ts";

type Leaf = (name: string, type: string) => Value;

function graphOf(build: (g: OpBuilder, input: Leaf, builder: GraphBuilder) => Readonly<Record<string, Value>>): Graph {
  const builder = new GraphBuilder(opTable, "f");
  const outputs = build(typedBuilder(builder), (name, type) => builder.input(name, parseType(type)), builder);
  for (const [name, value] of Object.entries(outputs)) builder.output(name, value);
  return builder.finish();
}

type Numbers = Readonly<Record<string, HostTensor | readonly number[] | number>>;

/** Flat numbers take the shape of their input. */
function run(graph: Graph, inputs: Numbers): Readonly<Record<string, HostTensor>> {
  expect(verify(opTable, graph)).toEqual([]);
  const typeOf = (name: string): TensorType => graph.nodes.find((n) => n.attrs["name"] === name)!.outputs[0]!;
  const given = Object.entries(inputs).map(([name, x]): [string, HostTensor] => {
    if (typeof x === "number") return [name, hostScalar("f64", x)];
    return [name, "data" in x ? x : hostTensor("f64", typeOf(name).shape.map(Number), x)];
  });
  return finish(evaluate(graph, { inputs: Object.fromEntries(given) })).outputs;
}

const numbers = (count: number, salt = 0): readonly number[] =>
  Array.from({ length: count }, (_, i) => Math.sin(1 + 2.3 * i + salt));
const close = (got: ArrayLike<number>, want: ArrayLike<number>): void => {
  expect(got.length).toBe(want.length);
  Array.from(want).forEach((value, i) => expect(Math.abs(got[i]! - value)).toBeLessThan(1e-9 * (1 + Math.abs(value))));
};

const cube = graphOf((g, input) => {
  const x = input("x", "f64[]");
  return { y: g.mul([x, g.mul([x, x])]), other: g.neg([x]) };
});

/** y = tanh(x W), of rows; and the sum of its squares. */
const layer = graphOf((g, input) => {
  const y = g.tanh([g.matmul([input("x", "f64[2,3]"), input("W", "f64[3,4]")])]);
  return { y, loss: g.reduce([g.mul([y, y])], { kind: "sum", axes: [0, 1] }) };
});
const LAYER = { x: numbers(6), W: numbers(12, 5) };

describe("derivatives", () => {
  it("of derivatives, to any order, need no other names", () => {
    const [of, wrt] = ["gradient.x", ["x"]] as const;
    const first = grad(cube, { of: "y", wrt });
    const second = grad(first, { of, wrt });
    const third = grad(second, { of, wrt });
    expect([first, second, third].map((graph) => Object.keys(run(graph, { x: 2 })))).toEqual([[of], [of], [of]]);
    expect([first, second, third].map((graph) => run(graph, { x: 2 })[of]!.data[0])).toEqual([12, 12, 6]);
    expect(run(grad(third, { of, wrt }), { x: 2 })[of]!.data[0]).toBe(0);
  });

  it("come with the values where they are asked for", () => {
    const both = run(valueAndGrad(cube, { of: "y", wrt: ["x"], prefix: "d" }), { x: 2 });
    expect(Object.entries(both).map(([name, { data }]) => [name, data[0]])).toEqual([
      ["y", 8],
      ["other", -2],
      ["d.x", 12],
    ]);
  });

  it("by rows and by columns are one Jacobian, which central differences confirm", () => {
    const request = { of: "y", wrt: ["x", "W"] };
    const [forward, reverse] = [jacfwd, jacrev].map((jacobian) => run(jacobian(layer, request), LAYER));
    for (const [name, own] of Object.entries(LAYER)) {
      const [a, b] = [forward!, reverse!].map((made) => made[`jacobian.${name}`]!);
      expect(a!.shape).toEqual([2, 4, ...(name === "x" ? [2, 3] : [3, 4])]);
      expect(b!.shape).toEqual(a!.shape);
      close(a!.data, b!.data);
      own.forEach((_, k) => {
        const moved = [1e-6, -1e-6].map((by) => run(layer, { ...LAYER, [name]: own.with(k, own[k]! + by) })["y"]!.data);
        moved[0]!.forEach((up, i) => expect((up - moved[1]![i]!) / 2e-6).toBeCloseTo(a!.data[i * own.length + k]!, 6));
      });
    }
  });

  it("of second order agree in every order of the modes, and with their products with a vector", () => {
    const wrt = ["x"];
    const inner = { of: "loss", wrt };
    const outer = { of: "jacobian.x", wrt };
    const hessians = [
      jacfwd(jacrev(layer, inner), outer),
      jacrev(jacfwd(layer, inner), outer),
      jacfwd(grad(layer, inner), { of: "gradient.x", wrt }),
      jacrev(jacrev(layer, inner), outer),
    ].map((graph) => run(graph, LAYER)["jacobian.x"]!);
    for (const { shape, data } of hessians) {
      expect(shape).toEqual([2, 3, 2, 3]);
      close(data, hessians[0]!.data);
    }
    const v = numbers(6, 9);
    const product = run(hvp(layer, inner), { ...LAYER, "tangent.x": v });
    expect(Object.keys(product)).toEqual(["hvp.x"]);
    const want = v.map((_, i) => v.reduce((sum, own, k) => sum + own * hessians[0]!.data[i * 6 + k]!, 0));
    close(product["hvp.x"]!.data, want);
  });

  it("have symbols as sizes", () => {
    const square = graphOf((g, input) => {
      const x = input("x", "f64[N]");
      return { y: g.mul([x, x]) };
    });
    const x = hostTensor("f64", [3], [1, 2, 3]);
    for (const jacobian of [jacfwd, jacrev]) {
      const { shape, data } = run(jacobian(square, { of: "y", wrt: ["x"] }), { x })["jacobian.x"]!;
      expect([shape, ...data]).toEqual([[3, 3], 2, 0, 0, 0, 4, 0, 0, 0, 6]);
    }
  });

  it("of both modes stand side by side under other prefixes", () => {
    const first = vjp(cube, { of: ["y"], wrt: ["x"], cotangents: "ones" });
    const again = { of: ["gradient.x"], wrt: ["x"], cotangents: "ones" } as const;
    expect(() => vjp(first, again)).toThrow('[vjp] the graph has an output "gradient.x" already');
    expect(run(vjp(first, { ...again, prefix: "second" }), { x: 2 })["second.x"]!.data[0]).toBe(12);
    const along = jvp(cube, { of: ["y"], wrt: ["x"] });
    expect(() => jvp(along, { of: ["tangent.y"], wrt: ["x"] })).toThrow('has an input "tangent.x" already');
    const twice = jvp(along, { of: ["tangent.y"], wrt: ["x"], prefix: "second" });
    expect(run(twice, { x: 2, "tangent.x": 1, "second.x": 1 })["second.tangent.y"]!.data[0]).toBe(12);
  });
});

describe("vmap", () => {
  const affine = graphOf((g, input) => {
    const [x, w, b] = [input("x", "f64[2,3]"), input("w", "f64[3]"), input("b", "f64[]")];
    return { y: g.add([g.mul([x, w]), b]), plain: g.exp([w]) };
  });

  it("takes and gives the batch axis where it is told, and equals a loop", () => {
    const [x, w, b] = [numbers(24), numbers(3, 4), numbers(4, 7)];
    const mapped = vmap(affine, { size: 4, inAxes: { x: 1, w: null, b: -1 }, outAxes: { y: 2, plain: null } });
    const { y, plain } = run(mapped, { x, w, b });
    expect([y!.shape, plain!.shape]).toEqual([[2, 3, 4], [3]]);
    for (let item = 0; item < 4; item++) {
      const own = [0, 1].flatMap((row) => x.slice((row * 4 + item) * 3, (row * 4 + item) * 3 + 3));
      const single = run(affine, { x: own, w, b: b[item]! })["y"]!;
      close(
        single.data,
        single.data.map((_, i) => y!.data[i * 4 + item]!),
      );
    }
    expect(run(vmap(affine, { size: 4, inAxes: { x: 0 }, outAxes: -1 }), { x, w, b: 1 })["y"]!.shape).toEqual([
      2, 3, 4,
    ]);
  });

  it("gives a gradient for each example, and goes into a gradient", () => {
    const request = { of: "loss", wrt: ["W"] };
    const x = numbers(18);
    const each = vmap(grad(layer, request), { size: 3, inAxes: { x: 0 } });
    const all = run(each, { ...LAYER, x })["gradient.W"]!;
    expect(all.shape).toEqual([3, 3, 4]);
    for (let item = 0; item < 3; item++) {
      const own = run(grad(layer, request), { ...LAYER, x: x.slice(item * 6, item * 6 + 6) })["gradient.W"]!;
      close(all.data.slice(item * 12, item * 12 + 12), own.data);
    }
    const together = vjp(vmap(layer, { size: 3, inAxes: { x: 0 } }), { of: ["loss"], wrt: ["W"], cotangents: "ones" });
    const sum = run(together, { ...LAYER, x })["gradient.W"]!.data;
    close(
      sum,
      sum.map((_, i) => [0, 1, 2].reduce((total, item) => total + all.data[item * 12 + i]!, 0)),
    );
  });

  it("of vmap has both axes", () => {
    const inner = vmap(cube, { size: 2, inAxes: { x: 0 } });
    const outer = vmap(inner, { size: "N", inAxes: { x: 1 } });
    const { y } = run(outer, { x: hostTensor("f64", [2, 3], [1, 2, 3, 4, 5, 6]) });
    expect([y!.shape, ...y!.data]).toEqual([[3, 2], 1, 64, 8, 125, 27, 216]);
  });

  it("takes no symbol of the graph for the number of items, and names one that is free", () => {
    const rows = (...types: string[]) =>
      graphOf((g, input) => ({
        y: g.concat(
          types.map((type, i) => input(`x${i}`, type)),
          { axis: 0 },
        ),
      }));
    const mapped = (graph: Graph, size: string) => () => vmap(graph, { size, inAxes: { x0: 0 } });
    const refused = (size: string, taken: string, free: string): unknown =>
      expect.objectContaining({
        code: "INPUT_ARGUMENT",
        message: `[vmap] size: got ${size}, expected another symbol or a number: the graph has a symbol ${taken}`,
        hint: `Take ${free}.`,
        details: { free },
      });
    expect(mapped(rows("f64[N,3]"), "N")).toThrow(refused("N", "N", "B"));
    expect(mapped(rows("f64[T,3]", "f64[N,3]"), "2*T")).toThrow(refused("2*T", "T", "B"));
    expect(mapped(rows("f64[N]", "f64[B]", "f64[M]", "f64[N1]"), "B")).toThrow(refused("B", "B", "N2"));
    expect(mapped(rows("f64[N,3]"), "B")().nodes[0]!.outputs[0]!.shape).toEqual(["B", "N", 3]);
  });

  it("maps parameters in memory and states, and no weights of files", () => {
    const graph = graphOf((g, input, builder) => {
      const w = builder.param("w", parseType("f64[]"), { memory: true, initial: { kind: "constant", value: 3 } });
      const file = builder.param("file", parseType("f64[]"), { file: "f", tensor: "t" });
      const count = builder.state("count", parseType("f64[]"));
      builder.setState("count", g.add([count, input("x", "f64[]")]));
      return { y: g.mul([w, count]), other: file };
    });
    const mapped = vmap(graph, { size: 2, inAxes: { w: 0, count: 0 } });
    expect(mapped.nodes.filter((n) => n.op !== "add" && n.op !== "mul").map((n) => n.outputs[0]!.shape)).toContainEqual(
      [2],
    );
    expect(verify(opTable, mapped)).toEqual([]);
    expect(() => vmap(graph, { size: 2, inAxes: { file: 0 } })).toThrow("got a weight of a file");
    expect(() => vmap(graph, { size: 2, inAxes: { x: 0 } })).toThrow("[vmap] inAxes count: got none, expected an axis");
  });

  it.each([
    [{ z: 0 }, undefined, '[vmap] inAxes: got "z", expected one of x'],
    [{ x: 0 }, { z: 0 }, '[vmap] outAxes: got "z", expected one of y, other'],
    [{ x: 0 }, null, "[vmap] outAxes y: got null, expected an axis: it differs from item to item"],
    [{ x: 2 }, undefined, "axis"],
  ])("refuses %j %j", (inAxes, outAxes, message) => {
    const request = { size: 2, inAxes, ...(outAxes === undefined ? {} : { outAxes }) };
    expect(() => vmap(cube, request)).toThrow(message);
  });

  it("cannot batch packed blocks", () => {
    const graph = graphOf((g, input) => ({ y: g.dequantize([input("w", "q8_0[2,32]")]) }));
    expect(() => vmap(graph, { size: 2, inAxes: { w: 0 } })).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_OP", message: expect.stringContaining("[vmap] dequantize") }),
    );
  });
});

describe("control flow", () => {
  /** x ← x · w while x < 50, or one of two branches. */
  const loop = (limit?: number): Graph =>
    graphOf((g, input) => {
      const [x, w] = [input("x", "f64[]"), input("w", "f64[]")];
      const types = [g.typeOf(x), g.typeOf(w)];
      const attrs = { carried: 1, ...(limit === undefined ? {} : { maxIterations: limit }) };
      const [y] = g.while([x, w], attrs, "growth", [
        g.region("condition", types, (h, a) => [h.compare([a, h.constant(hostScalar("f64", 50))], { op: "lt" })]),
        g.region("body", types, (h, a, c) => [h.mul([a, c])]),
      ]);
      const flag = g.compare([x, w], { op: "lt" });
      const [z] = g.if([flag, y!, w], {}, "choice", [
        g.region("then", types, (h, a, c) => [h.mul([a, c])]),
        g.region("else", types, (h, a, c) => [h.add([a, c])]),
      ]);
      return { y: z! };
    });
  // 2 · 3³ · 3 = 162.
  const at = { x: 2, w: 3 };

  it("lets every transform through, by a limit where it goes backwards", () => {
    const wrt = ["x", "w"];
    for (const made of [jacfwd(loop(), { of: "y", wrt }), jacrev(loop(6), { of: "y", wrt })])
      expect(Object.values(run(made, at)).map(({ data }) => data[0])).toEqual([81, 216]);
    const second = run(hvp(loop(6), { of: "y", wrt }), { ...at, "tangent.x": 0, "tangent.w": 1 });
    expect([second["hvp.x"]!.data[0], second["hvp.w"]!.data[0]]).toEqual([108, 216]);
    const mapped = run(vmap(grad(loop(6), { of: "y", wrt }), { size: 2, inAxes: { x: 0 } }), { x: [2, 4], w: 3 });
    // From 4, three turns: 4 · 27 = 108, and 4 is not below 3: 108 + 3.
    expect([...mapped["gradient.x"]!.data, ...mapped["gradient.w"]!.data]).toEqual([81, 27, 216, 109]);
  });

  it("refuses to go backwards without a limit", () => {
    const refused = expect.objectContaining({ code: "UNSUPPORTED_OP", hint: expect.stringContaining("forward mode") });
    expect(() => grad(loop(), { of: "y", wrt: ["x"] })).toThrow(refused);
  });
});

describe("what is refused", () => {
  const odd = graphOf((g, input) => {
    const w = input("w", "q4_k[1,256]");
    const y = g.linear([input("x", "f64[1,256]"), w]);
    const count = g.cast([input("n", "i32[]")], { to: "f64" });
    return { y: g.add([g.reduce([y], { kind: "sum", axes: [0, 1] }), count]), rows: y };
  });
  const names = ["grad", "valueAndGrad", "hvp", "jacfwd", "jacrev"] as const;
  const transforms = { grad, valueAndGrad, hvp, jacfwd, jacrev };

  it.each(names)("by %s: packed weights, whole numbers, unknown names", (name) => {
    const transform = transforms[name];
    const packed = expect.objectContaining({
      code: "UNSUPPORTED_OP",
      message: expect.stringContaining("packed blocks are codes, which have no derivative"),
      hint: "Train a LoRA adapter over the packed weight, or dequantise it and differentiate the floats.",
    });
    expect(() => transform(odd, { of: "y", wrt: ["w"] })).toThrow(packed);
    expect(() => transform(odd, { of: "y", wrt: ["n"] })).toThrow("whole numbers have no derivative");
    expect(() => transform(odd, { of: "y", wrt: ["v"] })).toThrow('wrt: got "v", expected one of w, x, n');
    expect(() => transform(odd, { of: "y", wrt: ["x", "x"] })).toThrow('"x" is named twice');
    expect(() => transform(odd, { of: "z", wrt: ["x"] })).toThrow('of: got "z", expected one of y, rows');
    if (!name.startsWith("jac"))
      expect(() => transform(odd, { of: "rows", wrt: ["x"] })).toThrow(
        `[${name}] output rows: got f64[1,1], expected one`,
      );
  });
});

describe("the size of what is made", () => {
  const chain = (length: number): Graph =>
    graphOf((g, input) => {
      let y = input("x", "f64[3]");
      for (let i = 0; i < length; i++) y = i % 2 === 0 ? g.tanh([y]) : g.mul([y, y]);
      return { y: g.reduce([y], { kind: "sum", axes: [0] }) };
    });
  const request = { of: "y", wrt: ["x"] };
  it.each<readonly [string, (graph: Graph) => Graph]>([
    ["grad", (f) => grad(f, request)],
    ["jvp", (f) => jvp(f, { of: ["y"], wrt: ["x"] })],
    ["hvp", (f) => hvp(f, request)],
    ["jacfwd", (f) => jacfwd(f, request)],
    ["jacrev of jacrev", (f) => jacrev(jacrev(f, request), { of: "jacobian.x", wrt: ["x"] })],
    ["vmap of hvp", (f) => vmap(hvp(f, request), { size: 4, inAxes: { x: 0 } })],
  ])("%s: grows as its graph does", (_, transform) => {
    const [one, two] = [60, 120].map((length) => transform(chain(length)).nodes.length);
    expect(two! / one!).toBeLessThan(2.02);
  });
});
