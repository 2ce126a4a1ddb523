// The gradients of roundings, which differences cannot tell: written out as in Esser et al. 2020.
import { expect, it } from "vitest";
import { gradientGraph } from "../../autodiff/vjp.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { evaluate } from "../evaluate.ts";
import { opTable, typedBuilder } from "../index.ts";

const MOST = 7;
const X = [-5, -0.93, -0.2, 0, 0.11, 0.6, 1.3, 4];
const STEP = 0.25;
const CT = [1, -2, 3, -4, 5, -6, 7, -8];

function gradients(op: "fake_quantize" | "fake_quantize_lsq", hasStep: boolean): readonly (readonly number[])[] {
  const builder = new GraphBuilder(opTable, op);
  const g = typedBuilder(builder);
  const [x, step] = [builder.input("x", tensor("f64", [X.length])), builder.input("step", tensor("f64", []))];
  const given = op === "fake_quantize_lsq" ? g.fake_quantize_lsq([x, step], { bits: 4 }) : undefined;
  builder.output("y", given ?? g.fake_quantize(hasStep ? [x, step] : [x], { bits: 4 }));
  const graph = gradientGraph(builder.finish(), { of: ["y"], wrt: ["x", "step"] });
  const inputs = {
    x: hostTensor("f64", [X.length], X),
    step: hostTensor("f64", [], [STEP]),
    "cotangent.y": hostTensor("f64", [X.length], CT),
  };
  const { outputs } = finish(evaluate(graph, { inputs }));
  // A zero without its sign.
  return ["x", "step"].map((name) => [...outputs[`gradient.${name}`]!.data].map((value) => value + 0));
}

const isInside = (x: number): boolean => Math.abs(x / STEP) <= MOST;
const through = X.map((x, i) => (isInside(x) ? CT[i]! : 0));

it("goes straight through on the grid, and learns the step", () => {
  const psi = X.map((x) => (isInside(x) ? Math.round(x / STEP) - x / STEP : Math.sign(x) * MOST));
  const wanted = psi.reduce((sum, value, i) => sum + value * CT[i]!, 0);
  const [dx, [dstep]] = gradients("fake_quantize_lsq", true) as [number[], number[]];
  expect(dx).toEqual(through);
  expect(dstep).toBeCloseTo(wanted, 12);
});

it("has none for a step that is given", () => {
  expect(gradients("fake_quantize", true)).toEqual([through, [0]]);
});

it("reaches every number where the largest is the end of the grid", () => {
  gradients("fake_quantize", false)[0]!.forEach((value, i) => expect(value).toBeCloseTo(CT[i]!, 12));
});
