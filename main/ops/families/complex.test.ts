// Numbers of the type c64 in the middle of a graph: derivatives go through them both ways.
import { expect, it } from "vitest";
import { tangentGraph } from "../../autodiff/jvp.ts";
import { gradientGraph } from "../../autodiff/vjp.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { evaluate } from "../evaluate.ts";
import { opTable, typedBuilder } from "../index.ts";

const X = [0.5, -1.25, 2, 0.75, 1, -0.5];
const DIRECTION = [1, 0.5, -2, 0.25, 3, -1];

/** Σ |z² + conj(z)|² of three numbers, whose c64 is read three times. */
function graph(): Graph {
  const builder = new GraphBuilder(opTable, "through c64");
  const g = typedBuilder(builder);
  const pairs = g.to_complex([builder.input("x", tensor("f32", [6]))]);
  const turned = g.reshape([g.reshape([pairs], { shape: [1, 3] })], { shape: [3] });
  const [a, b, c] = [g.from_complex([pairs]), g.from_complex([pairs]), g.from_complex([turned])];
  const sum = g.add([g.complex_mul([a, b]), g.conjugate([c])]);
  builder.output("y", g.reduce([g.complex_norm_sq([sum])], { kind: "sum", axes: [0] }));
  return builder.finish();
}

function valueAt(x: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < 3; i++) {
    const [re, im] = [x[i]!, x[i + 3]!];
    sum += (re * re - im * im + re) ** 2 + (2 * re * im - im) ** 2;
  }
  return sum;
}

const slope = (i: number): number => {
  const at = (by: number) => valueAt(X.map((x, k) => (k === i ? x + by : x)));
  return (at(1e-5) - at(-1e-5)) / 2e-5;
};
const x = hostTensor("f32", [6], X);

it("has the gradient of the parts", () => {
  const made = gradientGraph(graph(), { of: ["y"], wrt: ["x"] });
  const inputs = { x, "cotangent.y": hostTensor("f32", [], [1]) };
  const { outputs } = finish(evaluate(made, { inputs }));
  outputs["gradient.x"]!.data.forEach((value, i) => expect(value).toBeCloseTo(slope(i), 6));
});

it("has the tangent of the parts", () => {
  const made = tangentGraph(graph(), { of: ["y"], wrt: ["x"] });
  const { outputs } = finish(evaluate(made, { inputs: { x, "tangent.x": hostTensor("f32", [6], DIRECTION) } }));
  const wanted = DIRECTION.reduce((sum, by, i) => sum + by * slope(i), 0);
  expect(outputs["tangent.y"]!.data[0]).toBeCloseTo(wanted, 5);
});
