/** Five hundred random graphs: gradients against central differences, and of a part of them the transforms against each other. */
import { expect, it } from "vitest";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { evaluate } from "../ops/evaluate.ts";
import { seededRandom } from "../testing/random.ts";
import { differentiableCase, numbersOf, SHAPE, STEPS } from "../testing/randomDifferentiable.ts";
import { tangentGraph } from "./jvp.ts";
import { hvp, valueAndGrad } from "./transforms.ts";
import { mapGraph } from "./vmap.ts";

type Inputs = Readonly<Record<string, HostTensor>>;
type Outputs = Readonly<Record<string, HostTensor>>;

const WRT = ["x", "z"] as const;
const run = (graph: Graph, inputs: Inputs): Outputs => finish(evaluate(graph, { inputs })).outputs;
const one = (outputs: Outputs, name: string): number => outputs[name]!.data[0]!;
const dot = (a: HostTensor, b: HostTensor): number => a.data.reduce((sum, x, i) => sum + x * b.data[i]!, 0);
const off = (got: number, want: number): number => Math.abs(got - want) / (1 + Math.abs(want));

const moved = (inputs: Inputs, along: Inputs, by: number): Inputs =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, x]) => [
      name,
      { ...x, data: x.data.map((v, i) => v + by * along[name]!.data[i]!) },
    ]),
  );

/** By (f(h) − f(−h)) / 2h with steps h and 2h, so that the error falls with h⁴. */
function slope(f: (by: number) => number): number {
  const h = 1e-4;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

/** Of one direction: how far off the gradient is, the tangent of the gradient, and so on. */
function faults(seed: number): Readonly<Record<string, number>> {
  const { graph, inputs } = differentiableCase(seed);
  const random = seededRandom(seed + 1e6);
  const along = { x: numbersOf(random), z: numbersOf(random) };
  const backward = valueAndGrad(graph, { of: "y", wrt: WRT });
  const made = run(backward, inputs);
  const along1 = WRT.reduce((sum, name) => sum + dot(made[`gradient.${name}`]!, along[name]), 0);
  const tangents = Object.fromEntries(WRT.map((name) => [`tangent.${name}`, along[name]]));
  const found: Record<string, number> = {
    gradient: off(
      along1,
      slope((by) => one(run(graph, moved(inputs, along, by)), "y")),
    ),
  };
  if (seed % 3 === 0) {
    const forward = run(tangentGraph(graph, { of: ["y"], wrt: WRT }), { ...inputs, ...tangents });
    found["tangent"] = off(one(forward, "tangent.y"), along1) * 1e3;
  }
  if (seed % 10 === 1) {
    const bent = run(hvp(graph, { of: "y", wrt: WRT }), { ...inputs, ...tangents });
    const curved = WRT.reduce((sum, name) => sum + dot(bent[`hvp.${name}`]!, along[name]), 0);
    const gradientAlong = (by: number): number => {
      const there = run(backward, moved(inputs, along, by));
      return WRT.reduce((sum, name) => sum + dot(there[`gradient.${name}`]!, along[name]), 0);
    };
    found["hvp"] = off(curved, slope(gradientAlong));
    found["vmap"] = mapped(backward, inputs, along) * 1e3;
  }
  return found;
}

/** Two items at once against one after the other; z is the same for both. */
function mapped(backward: Graph, inputs: Inputs, along: Inputs): number {
  const items = [inputs["x"]!, along["x"]!];
  const x = hostTensor(
    "f64",
    [2, ...SHAPE],
    items.flatMap(({ data }) => [...data]),
  );
  const together = run(mapGraph(backward, { size: 2, inAxes: { x: 0 } }), { ...inputs, x });
  return Math.max(
    ...items.flatMap((own, item) =>
      Object.entries(run(backward, { ...inputs, x: own })).flatMap(([name, single]) =>
        [...single.data].map((value, i) => off(together[name]!.data[item * single.data.length + i]!, value)),
      ),
    ),
  );
}

it("agree with central differences, and with each other", { timeout: 180_000 }, () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 500; seed++) {
    const { steps } = differentiableCase(seed);
    for (const step of steps) seen.add(step);
    for (const [what, fault] of Object.entries(faults(seed)))
      // Tangents and batches are exact but for rounding, so they are held to 1e-10.
      if (!(fault < 1e-7)) expect.fail(`seed ${seed}, ${what} is off by ${fault}: ${steps.join(", ")}`);
  }
  expect([...seen].toSorted()).toEqual(Object.keys(STEPS).toSorted());
});
