/**
 * A net in few bits, as two passes. Both look for products of an activation with a weight that is named.
 *
 * Range probes (PTQ calibration) — Given: `linear(x, w)`. Result: the same, and an output `range.0`, the largest |x|.
 * Few bits (QAT insertion) — Given: `linear(x, w)`. Result: `linear(fake_quantize(x, step), fake_quantize(w))`.
 */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { Miss, Pass } from "../ir/pass.ts";
import { placeOf, unchanged } from "../ir/pass.ts";
import { copyNode, rewrite } from "../ir/rewrite.ts";
import { finish } from "../ir/steps.ts";
import { stepTo } from "../ops/families/fakeQuantize.ts";
import { opTable, typedBuilder } from "../ops/index.ts";

export interface QuantizedBits {
  /** Of weights: one grid for each row of outputs. 2 to 8. */
  readonly weights: number;
  /** Of activations: one grid for each product. 2 to 16. */
  readonly activations: number;
}

/** The largest activation of each product, in the order of the graph. */
export type Ranges = readonly number[];

/** Products with a weight, and the axes of the weight over which one output sums. */
const PRODUCTS: Readonly<Record<string, (rank: number) => readonly number[]>> = {
  linear: () => [1],
  // [outputs, inputs, …sizes]
  conv: (rank) => Array.from({ length: rank - 1 }, (_, i) => i + 1),
  // [inputs, outputs]
  matmul: (rank) => [rank - 2],
};
export const PRODUCT_OPS = Object.keys(PRODUCTS);

interface Product {
  /** Its place among the products: that of its range. */
  readonly index: number;
  readonly activation: Value;
  readonly weight: Value;
  readonly axes: readonly number[];
}

interface Products {
  readonly byNode: ReadonlyMap<number, Product>;
  readonly misses: readonly Miss[];
}

/** The products whose second operand is one of these weights; of the others, why they are none. */
export function productsOf(graph: Graph, weights: ReadonlySet<string>): Products {
  const byNode = new Map<number, Product>();
  const misses: Miss[] = [];
  for (const node of graph.nodes) {
    const axesOf = PRODUCTS[node.op];
    const [activation, weight] = node.inputs;
    const leaf = weight && graph.nodes[weight.node];
    if (axesOf === undefined || activation === undefined || weight === undefined || leaf === undefined) continue;
    const why = reasonAgainst(leaf, weights);
    if (why !== undefined) misses.push({ node: node.id, where: placeOf(node), why });
    else {
      const axes = axesOf(leaf.outputs[0]?.shape.length ?? 0);
      byNode.set(node.id, { index: byNode.size, activation, weight, axes });
    }
  }
  return { byNode, misses };
}

function reasonAgainst(leaf: Node, weights: ReadonlySet<string>): string | undefined {
  if (!isLeaf(leaf)) return `its second operand is made by ${leaf.op}: expected a weight`;
  const name = String(leaf.attrs["name"] ?? leaf.op);
  return weights.has(name) ? undefined : `${name} is none of the weights that are trained`;
}

export const rangeName = (index: number): string => `range.${index}`;

export const rangeProbes = (weights: ReadonlySet<string>): Pass => ({
  name: "range probes",
  reason: "Alone, over a net that is trained: how wide a grid has to be is what its batches say.",
  run: (graph) => {
    const { byNode, misses } = productsOf(graph, weights);
    if (byNode.size === 0) return unchanged(graph, misses);
    const builder = new GraphBuilder(opTable, `${graph.name} calibration`);
    for (const [symbol, size] of Object.entries(graph.symbolLimits)) builder.limitSymbol(symbol, size);
    const made: (readonly Value[])[] = [];
    const map = (old: Value): Value => made[old.node]?.[old.output] ?? old;
    for (const node of graph.nodes) made.push(copyNode(builder, graph, node, map));
    for (const { name, value } of graph.outputs) builder.output(name, map(value));
    for (const { index, activation } of byNode.values())
      builder.output(rangeName(index), largest(builder, map(activation)));
    const moved = Int32Array.from(made, ([first]) => first?.node ?? -1);
    return { graph: builder.finish(), moved, hits: byNode.size, misses };
  },
});

function largest(builder: GraphBuilder, x: Value): Value {
  const g = typedBuilder(builder);
  const axes = [...g.typeOf(x).shape.keys()];
  return g.reshape([g.reduce([g.abs([x])], { kind: "max", axes, keepDims: true })], { shape: [1] });
}

export const fewBits = (weights: ReadonlySet<string>, ranges: Ranges, bits: QuantizedBits): Pass => ({
  name: "few bits",
  reason: "Alone, after a calibration and before the gradient: it is trained as what it will be.",
  run: (graph) => {
    const { byNode, misses } = productsOf(graph, weights);
    const rounded = rewrite(opTable, graph, "few bits", (node, map, replace) => {
      const product = byNode.get(node.id);
      if (product === undefined) return undefined;
      const { apply, constant } = replace();
      const step = constant(hostScalar("f32", Math.fround(stepTo(ranges[product.index] ?? 0, bits.activations))));
      const x = apply("fake_quantize", [map(product.activation), step], { bits: bits.activations });
      const w = apply("fake_quantize", [map(product.weight)], { bits: bits.weights, axes: product.axes });
      return apply(node.op, [...x, ...w, ...node.inputs.slice(2).map(map)], node.attrs);
    });
    const { graph: next, moved, changed } = finish(rounded);
    return { graph: next, moved, hits: changed, misses };
  },
});
