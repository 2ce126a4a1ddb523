/** The rules of functions of the host program: which is taken where, and what is refused by its name. */
import { afterEach, describe, expect, it } from "vitest";
import type { CustomKernel } from "../../library/index.ts";
import { buildGraph, evaluate, grad, jvp, registerCustomKernel, vmap } from "../../library/index.ts";

const NAME = "test.cube";
let undo = (): void => undefined;
afterEach(() => undo());

/** x³ with the rules that are given. */
function cube(rules: Pick<CustomKernel, "vjp" | "jvp" | "vmap">) {
  undo();
  undo = registerCustomKernel(NAME, {
    summary: "x³",
    run: ([x]) => (x === undefined ? [] : [{ ...x, data: x.data.map((v) => v ** 3) }]),
    ...rules,
  });
  return buildGraph("cube", (g) => {
    const x = g.input("x", "f32[2]");
    const [y] = g.custom([x], { name: NAME, outputs: ["f32[2]"] });
    g.output("y", g.reduce([y!], { kind: "sum", axes: [0] }));
  });
}
const slope = (g: Parameters<NonNullable<CustomKernel["jvp"]>>[0], x: Parameters<typeof g.mul>[0][0]) => {
  const square = g.mul([x, x]);
  return g.add([square, g.add([square, square])]);
};
const push: NonNullable<CustomKernel["jvp"]> = (g, [x], _y, [t]) => [x && t && g.mul([slope(g, x), t])];
const wrong = (message: string): unknown =>
  expect.objectContaining({ code: "IR_TYPE", message: expect.stringContaining(message) as unknown });

describe("a host function", () => {
  it("is differentiated both ways by its rule for forward mode", () => {
    const graph = cube({ jvp: push });
    const back = grad(graph, { of: "y", wrt: ["x"] });
    expect([...evaluate(back, { x: [2, 3] }).outputs["gradient.x"]!.data]).toEqual([12, 27]);
    const moved = jvp(graph, { of: ["y"], wrt: ["x"] });
    expect([...evaluate(moved, { x: [2, 3], "tangent.x": [10, 1] }).outputs["tangent.y"]!.data]).toEqual([147]);
    // The rule is made of ordinary ops, so its own derivatives are there.
    const second = jvp(back, { of: ["gradient.x"], wrt: ["x"] });
    const made = evaluate(second, { x: [2, 3], "tangent.x": [1, 1] }).outputs["tangent.gradient.x"]!;
    expect([...made.data]).toEqual([12, 18]);
  });

  it("takes the rule for backwards in reverse mode, where it has both", () => {
    const graph = cube({ jvp: push, vjp: (_g, _x, _y, cotangents) => cotangents });
    const back = grad(graph, { of: "y", wrt: ["x"] });
    expect([...evaluate(back, { x: [2, 3] }).outputs["gradient.x"]!.data]).toEqual([1, 1]);
    const moved = jvp(graph, { of: ["y"], wrt: ["x"] });
    expect([...evaluate(moved, { x: [2, 3], "tangent.x": [10, 1] }).outputs["tangent.y"]!.data]).toEqual([147]);
  });

  it("is called once for all items by its rule, and for each without", () => {
    const calls = (rules: Pick<CustomKernel, "vmap">): readonly number[] => {
      const many = vmap(cube(rules), { size: 3, inAxes: { x: 0 } });
      const { outputs } = evaluate(many, { x: [1, 2, 3, 4, 5, 6] });
      expect([...outputs["y"]!.data]).toEqual([9, 91, 341]);
      return [many.nodes.filter(({ op }) => op === "custom").length];
    };
    expect(calls({})).toEqual([3]);
    const all: CustomKernel["vmap"] = (g, inputs, _batched, size) =>
      g.custom(inputs, { name: NAME, outputs: [`f32[${size},2]`] });
    expect(calls({ vmap: all })).toEqual([1]);
  });

  it("has no gradient without a rule, and a wrong rule is told by its name", () => {
    const gradient = (rules: Parameters<typeof cube>[0]) => () => grad(cube(rules), { of: "y", wrt: ["x"] });
    expect(gradient({})).toThrow(expect.objectContaining({ code: "UNSUPPORTED_OP" }));
    expect(gradient({ vjp: () => [] })).toThrow(wrong('[custom "test.cube"] outputs of vjp: got 0, expected 1'));
    const narrow: CustomKernel["vjp"] = (g, _x, _y, [ct]) => [ct && g.reduce([ct], { kind: "sum", axes: [0] })];
    expect(gradient({ vjp: narrow })).toThrow(wrong("outputs of vjp: got f32[], expected f32[2]"));
    expect(() => jvp(cube({ jvp: () => [] }), { of: ["y"], wrt: ["x"] })).toThrow(wrong("outputs of jvp: got 0"));
    const few: CustomKernel["vmap"] = () => [];
    expect(() => vmap(cube({ vmap: few }), { size: 3, inAxes: { x: 0 } })).toThrow(
      wrong("outputs of vmap: got nothing, expected f32[3,2]"),
    );
  });
});
