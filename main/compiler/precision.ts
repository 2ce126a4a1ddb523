/**
 * Applies a precision policy to a graph. Weights, inputs, outputs and states keep their types: only what is between them
 * changes, with casts where types meet (`simplify` cancels those that go there and back). Core ML programs are lowered from
 * graphs in f32 and follow the policy of their weight profile (`PROFILE_PRECISION`); a test holds them to what this makes of it.
 */
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { DType } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { rootsOf, valueKey } from "../ir/graph.ts";
import type { Replacement } from "../ir/rewrite.ts";
import { mapRegions } from "../ir/nested.ts";
import type { OpSpec } from "../ir/opTable.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { rewriteInSteps } from "../ir/rewrite.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import { isLeaf } from "../ir/graph.ts";
import { opTable } from "../ops/index.ts";

/** Ops that say themselves which type they give. */
const FIXED: ReadonlySet<string> = new Set(["cast", "dequantize", "iota", "rope_table"]);

function dtypeFor(node: Node, policy: PrecisionPolicy): DType | undefined {
  const spec = opTable.get(node.op);
  if (isLeaf(node) || FIXED.has(node.op) || node.regions.length > 0 || !spec) return undefined;
  if (policy === "f32" || spec.traits.includes("host")) return "f32";
  return policy === "mixed" && isSensitive(spec) ? "f32" : "f16";
}

/** Loses too much in half: long sums, large ranges, small differences. */
const isSensitive = ({ traits }: OpSpec): boolean => traits.includes("sensitive") || traits.includes("reduction");

/** A weight is read in its own type, a cache is written in its own. */
const keepsType = (graph: Graph, value: Value): boolean => {
  const source = graph.nodes[value.node];
  const type = source?.outputs[value.output];
  return (
    !type ||
    !isFloat(type.dtype) ||
    isPacked(type.dtype) ||
    (source?.op === "param" && type.shape.length > 1) ||
    isCache(graph, value)
  );
};

function isCache(graph: Graph, value: Value): boolean {
  const source = graph.nodes[value.node];
  return source?.op === "state" || source?.op === "kv_append";
}

export const applyPrecision = (source: Graph, policy: PrecisionPolicy): Graph =>
  finish(applyPrecisionInSteps(source, policy));

export function* applyPrecisionInSteps(source: Graph, policy: PrecisionPolicy): Steps<Graph> {
  if (policy === "f32") return source;
  // A sub-graph keeps the types of what it is handed and gives, as a graph does.
  const { graph } = mapRegions(opTable, source, `precision ${policy}`, (region) => applyPrecision(region, policy));
  const roots = new Set(rootsOf(graph).map(valueKey));
  const { graph: typed } = yield* rewriteInSteps(opTable, graph, `precision ${policy}`, (node, map, replace) => {
    const dtype = dtypeFor(node, policy);
    if (dtype === undefined || !node.outputs.some((type) => isFloat(type.dtype)))
      return alignOperands(graph, node, map, replace);
    const replacement = replace();
    const operands = node.inputs.map((input) =>
      keepsType(graph, input) ? map(input) : castTo(replacement, map(input), dtype),
    );
    const results = replacement.apply(node.op, operands, node.attrs);
    return results.map((value, output) => {
      const before = node.outputs[output];
      const isRoot = roots.has(valueKey({ node: node.id, output }));
      return isRoot && before && isFloat(before.dtype) ? castTo(replacement, value, before.dtype as DType) : value;
    });
  });
  return typed;
}

/** Nodes without float results (comparisons, argmax) and those of a fixed type read floats in the type they were built for. */
function alignOperands(
  graph: Graph,
  node: Node,
  map: (old: Value) => Value,
  replace: () => Replacement,
): readonly Value[] | undefined {
  if (isLeaf(node) || node.op === "cast") return undefined;
  const replacement = replace();
  const stale = node.inputs.some((input) => {
    const before = graph.nodes[input.node]?.outputs[input.output]?.dtype;
    return before !== undefined && replacement.typeOf(map(input)).dtype !== before;
  });
  if (!stale) return undefined;
  const operands = node.inputs.map((input) => {
    const before = graph.nodes[input.node]?.outputs[input.output]?.dtype;
    return before !== undefined && isFloat(before) ? castTo(replacement, map(input), before as DType) : map(input);
  });
  return replacement.apply(node.op, operands, node.attrs, { regions: node.regions });
}

function castTo(replacement: Replacement, value: Value, dtype: DType): Value {
  if (replacement.typeOf(value).dtype === dtype) return value;
  const [result] = replacement.apply("cast", [value], { to: dtype });
  return result ?? value;
}
