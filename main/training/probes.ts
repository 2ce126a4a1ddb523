/**
 * A graph that tells of each of its floats whether they are numbers: beside every node stand a few small ops, and their
 * result is an output. So any device that runs the graph can be asked, in one run, for what it computed itself, and a
 * large value never leaves it.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isFloat, isPacked, plainDType } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { valueKey } from "../ir/graph.ts";
import { copyNode } from "../ir/rewrite.ts";
import { scalarLike } from "../ops/families/constants.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

/** What an element is that is no number. */
export type OddNumber = "NaN" | "+infinity" | "-infinity";

export interface Probe {
  /** The first of these that it holds: NaN, then +infinity, then -infinity. */
  readonly holds?: OddNumber;
  /** The least and the largest of its numbers. */
  readonly low: number;
  readonly high: number;
}

/** An input of every probed graph, which is 0: no pass can know it. */
export const ZERO = "training_zero";

export interface ProbedGraph {
  readonly graph: Graph;
  /** The output that tells of a value of the graph that was given, by `valueKey`. */
  readonly outputs: ReadonlyMap<string, string>;
}

/** The nodes of `source` as they are, and a probe of each value. `source` has no states. */
export function probedGraph(source: Graph): ProbedGraph {
  const builder = new GraphBuilder(opTable, `${source.name} probed`);
  const g = typedBuilder(builder);
  const zero = builder.input(ZERO, { dtype: "f32", shape: [] });
  const outputs = new Map<string, string>();
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[alarm] value ${valueKey(old)} is read before it is made`);
    return value;
  };
  for (const [symbol, size] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const node of source.nodes) {
    const copies = copyNode(builder, source, node, map);
    values.push(copies);
    copies.forEach((value, output) => {
      const { dtype, shape } = builder.typeOf(value);
      if (!isFloat(dtype) || isPacked(dtype) || shape.includes(0)) return;
      const name = `probe ${node.id} ${output}`;
      builder.output(name, probe(g, value, zero));
      outputs.set(valueKey({ node: node.id, output }), name);
    });
  }
  return { graph: builder.finish(), outputs };
}

/**
 * Five numbers. x · 0 is 0 for a number and NaN for all else, in every float type, so no largest number has to be known:
 * a device that computes in other types than the graph's says the truth, too.
 */
function probe(g: OpBuilder, x: Value, zero: Value): Value {
  const { dtype, shape } = g.typeOf(x);
  const own = plainDType(dtype, "alarm");
  const nothing = own === "f32" ? zero : g.cast([zero], { to: own });
  const isNumber = g.compare([g.mul([x, nothing]), nothing], { op: "eq" });
  const none = scalarLike(g, x, 0);
  const clean = g.where([isNumber, x, none]);
  const f32 = (value: Value): Value => g.cast([value], { to: "f32" });
  const bad = g.sub([g.constant({ dtype: "f32", shape: [], data: Float64Array.of(1) }), f32(isNumber)]);
  const plus = g.mul([bad, f32(g.compare([x, none], { op: "gt" }))]);
  const minus = g.mul([bad, f32(g.compare([x, none], { op: "lt" }))]);
  const nan = g.sub([g.sub([bad, plus]), minus]);
  const axes = [...shape.keys()];
  const all = (value: Value, kind: "max" | "min"): Value => {
    const one = axes.length === 0 ? value : g.reduce([value], { kind, axes });
    return g.reshape([one], { shape: [1] });
  };
  const parts = [all(nan, "max"), all(plus, "max"), all(minus, "max"), f32(all(clean, "min")), f32(all(clean, "max"))];
  return g.concat(parts, { axis: 0 });
}

export function probeOf(numbers: ArrayLike<number>): Probe {
  const [nan = 0, plus = 0, minus = 0, low = NaN, high = NaN] = Array.from(numbers);
  if (numbers.length !== 5) throw new WorkbenchError("BUG_INVARIANT", `[alarm] a probe of ${numbers.length} numbers`);
  if (nan > 0) return { holds: "NaN", low, high };
  if (plus > 0) return { holds: "+infinity", low, high };
  return minus > 0 ? { holds: "-infinity", low, high } : { low, high };
}
