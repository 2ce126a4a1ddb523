/**
 * Three small problems that optimisers are tried on: a quadratic over a vector, least squares over a matrix, and a net of two
 * layers. python/answers/optim_answers.py has the same three.
 */
import { gradientGraph } from "../autodiff/vjp.ts";
import { tangentGraph } from "../autodiff/jvp.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import type { GraphMaker } from "../library/graphs.ts";
import { buildGraph, evaluate } from "../library/graphs.ts";
import type { Value } from "../ir/graph.ts";
import type { DType } from "../ir/dtype.ts";
import type { HostArray } from "../training/hostAlgebra.ts";
import { hostArray } from "../training/hostAlgebra.ts";
import { seededRandom } from "../runtime/statistics.ts";

export type Arrays = Readonly<Record<string, HostArray>>;

export interface TrainingProblem {
  readonly name: "quadratic" | "squares" | "net";
  /** Its output `loss` is one number; data and parameters are inputs, or parameters in memory. */
  graph(dtype: DType, leaves?: "inputs" | "params"): Graph;
  readonly data: Arrays;
  readonly initial: Arrays;
}

function randomArray(shape: readonly number[], seed: number): HostArray {
  const random = seededRandom(seed);
  return hostArray(
    shape,
    Array.from({ length: sizeOf(shape) }, () => Math.fround(2 * random() - 1)),
  );
}

type Leaves = Readonly<Record<string, Value>>;
const leaf = (leaves: Leaves, name: string): Value => leaves[name] as Value;
const meanSquare = (g: GraphMaker, x: Value): Value => g.reduce([g.mul([x, x])], { kind: "mean", axes: [0, 1] });

const LOSSES: Readonly<Record<TrainingProblem["name"], (g: GraphMaker, of: Leaves) => Value>> = {
  quadratic: (g, of) => {
    const [x, h, b] = [leaf(of, "x"), leaf(of, "h"), leaf(of, "b")];
    const row = g.reshape([x], { shape: [1, 6] });
    const half = g.mul([g.matmul([row, h]), g.constant(hostTensor(g.typeOf(x).dtype as DType, [], [0.5]))]);
    return g.reduce([g.mul([g.sub([half, g.reshape([b], { shape: [1, 6] })]), row])], { kind: "sum", axes: [0, 1] });
  },
  squares: (g, of) => meanSquare(g, g.sub([g.matmul([leaf(of, "x"), leaf(of, "w")]), leaf(of, "y")])),
  net: (g, of) => {
    const hidden = g.tanh([g.add([g.matmul([leaf(of, "x"), leaf(of, "w1")]), leaf(of, "b1")])]);
    const made = g.add([g.matmul([hidden, leaf(of, "w2")]), leaf(of, "b2")]);
    return meanSquare(g, g.sub([made, leaf(of, "y")]));
  },
};

function problem(name: TrainingProblem["name"], data: Arrays, initial: Arrays): TrainingProblem {
  return {
    name,
    data,
    initial,
    graph: (dtype, leaves = "inputs") =>
      buildGraph(name, (g) => {
        const made: Record<string, Value> = {};
        for (const [own, { shape }] of Object.entries(data)) made[own] = g.input(own, { dtype, shape });
        for (const [own, { shape }] of Object.entries(initial))
          made[own] = leaves === "params" ? g.param(own, { dtype, shape }) : g.input(own, { dtype, shape });
        g.output("loss", LOSSES[name](g, made));
      }),
  };
}

/** Symmetric, with eigenvalues above zero. */
function curved(): HostArray {
  const root = randomArray([6, 6], 1);
  const data = Float64Array.from({ length: 36 }, (_, at) => {
    const [i, j] = [Math.floor(at / 6), at % 6];
    let sum = i === j ? 0.5 : 0;
    for (let k = 0; k < 6; k++) sum += (root.data[i * 6 + k] ?? 0) * (root.data[j * 6 + k] ?? 0);
    return sum;
  });
  return hostArray([6, 6], data);
}

export const PROBLEMS: readonly TrainingProblem[] = [
  problem("quadratic", { h: curved(), b: randomArray([6], 2) }, { x: randomArray([6], 3) }),
  problem("squares", { x: randomArray([12, 5], 4), y: randomArray([12, 4], 5) }, { w: randomArray([5, 4], 6) }),
  problem(
    "net",
    { x: randomArray([12, 3], 7), y: randomArray([12, 3], 8) },
    {
      w1: randomArray([3, 4], 9),
      b1: randomArray([4], 10),
      w2: randomArray([4, 3], 11),
      b2: randomArray([3], 12),
    },
  ),
];

const tensors = (arrays: Arrays): Record<string, HostTensor> =>
  Object.fromEntries(Object.entries(arrays).map(([name, { shape, data }]) => [name, hostTensor("f64", shape, data)]));

const signs = (shape: readonly number[], step: number): HostArray =>
  hostArray(
    shape,
    Array.from({ length: sizeOf(shape) }, (_, i) => (Math.sin(12.9898 * i + step) >= 0 ? 1 : -1)),
  );

export interface Derivatives {
  readonly gradients: (parameters: Arrays) => Arrays;
  /** u ⊙ (H u) with the signs u of this step. */
  readonly curvature: (parameters: Arrays, step: number) => Arrays;
}

/** In float64, by the reference. */
export function derivativesOf({ graph, data, initial }: TrainingProblem): Derivatives {
  const wrt = Object.keys(initial);
  const first = gradientGraph(graph("f64"), { of: ["loss"], wrt, cotangents: "ones" });
  const second = tangentGraph(first, { of: wrt.map((name) => `gradient.${name}`), wrt });
  const read = (outputs: Readonly<Record<string, HostTensor>>, prefix: string): Arrays =>
    Object.fromEntries(wrt.map((name) => [name, outputs[`${prefix}${name}`] as HostTensor]));
  return {
    gradients: (parameters) => read(evaluate(first, tensors({ ...data, ...parameters })).outputs, "gradient."),
    curvature: (parameters, step) => {
      const u = Object.fromEntries(wrt.map((name) => [name, signs((initial[name] as HostArray).shape, step)]));
      const along = Object.fromEntries(wrt.map((name) => [`tangent.${name}`, u[name] as HostArray]));
      const made = read(evaluate(second, tensors({ ...data, ...parameters, ...along })).outputs, "tangent.gradient.");
      return Object.fromEntries(
        wrt.map((name) => {
          const own = u[name] as HostArray;
          return [
            name,
            hostArray(
              own.shape,
              own.data.map((sign, i) => sign * ((made[name] as HostArray).data[i] ?? NaN)),
            ),
          ];
        }),
      );
    },
  };
}
