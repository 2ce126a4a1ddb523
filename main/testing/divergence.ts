/** The Kullback–Leibler divergence and its gradient where finite differences do not apply: at no share, at no chance of one, below 0. */
import { gradientGraph } from "../autodiff/vjp.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";

const SHAPE = [5];
const line = (values: readonly number[]): HostTensor => hostTensor("f32", SHAPE, values);
const EXCESS = Math.log(0.5) + 2;

export const DIVERGENCE_INPUTS = {
  t: line([0, 0, 0.5, 1, -0.25]),
  q: line([-Infinity, -1, -2, 0, -1]),
  "cotangent.y": line([1, 1, 1, 1, 1]),
};
export const DIVERGENCE = line([0, 0, 0.5 * EXCESS, 0, Infinity]);
export const DIVERGENCE_GRADIENTS = {
  "gradient.t": line([0, 0, EXCESS + 1, 1, 0]),
  "gradient.q": line([0, 0, -0.5, -1, 0]),
};

/** Each term is a line of its own. */
export function divergence(): { readonly graph: Graph; readonly gradient: Graph } {
  const b = new GraphBuilder(opTable, "divergence");
  const g = typedBuilder(b);
  const [t, q] = [b.input("t", tensor("f32", SHAPE)), b.input("q", tensor("f32", SHAPE))];
  const shape = [...SHAPE, 1];
  b.output("y", g.kl([g.reshape([t], { shape }), g.reshape([q], { shape })], { axes: [1] }));
  const graph = b.finish();
  return { graph, gradient: gradientGraph(graph, { of: ["y"], wrt: ["t", "q"] }) };
}
