/**
 * Given: a pure node whose operands are all known when the graph is built.
 * Result: a constant, computed by the op's reference and rounded to the dtype. Weights are never
 * folded: they are gigabytes and stay where they are. Neither is anything large: a constant costs
 * its bytes in every plan and package.
 */
import { toWireError } from "../diagnostics/errors.ts";
import { isFloat } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { rewrite } from "../ir/rewrite.ts";
import { roundToFloat } from "../quant/half.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType } from "../ir/type.ts";
import { opOf, opTable } from "../ops/index.ts";
import type { Miss, Pass } from "../ir/pass.ts";
import { placeOf, unchanged, walkingPass } from "../ir/pass.ts";

const NAME = "constant folding";
/** Most elements of a folded result, and of all operands of a fold together. */
export const LARGEST_RESULT = 4096;
export const LARGEST_OPERANDS = 65536;

const isStatic = (type: TensorType): boolean => type.shape.every((dim) => typeof dim === "number");
const countOf = (type: TensorType): number => type.shape.reduce<number>((n, dim) => n * Number(dim), 1);

const rounded = (value: HostTensor): HostTensor =>
  isFloat(value.dtype) && value.dtype !== "f64"
    ? { ...value, data: value.data.map((x) => roundToFloat(x, value.dtype)) }
    : value;

/**
 * Values known now, by `valueKey`; and where folding stopped although the operands were known.
 * `inputs` are those of a sub-graph that are known, by position.
 */
export function knownValues(
  graph: Graph,
  inputs: readonly (HostTensor | undefined)[] = [],
): {
  readonly known: ReadonlyMap<string, HostTensor>;
  readonly misses: readonly Miss[];
} {
  const known = new Map<string, HostTensor>();
  graph.inputs.forEach((node, i) => {
    const value = inputs[i];
    if (value) known.set(valueKey({ node, output: 0 }), value);
  });
  const misses: Miss[] = [];
  for (const node of graph.nodes) {
    if (node.op === "constant") {
      const data = graph.constants.get(String(node.attrs["data"]));
      if (data) known.set(valueKey({ node: node.id, output: 0 }), data);
      continue;
    }
    const operands = foldable(node, known);
    if (!operands) continue;
    const size = operands.reduce((sum, x) => sum + x.data.length, 0);
    const largest = Math.max(...node.outputs.map(countOf));
    if (size > LARGEST_OPERANDS || largest > LARGEST_RESULT) {
      misses.push({
        node: node.id,
        where: placeOf(node),
        why: `${node.op} to ${node.outputs.map(formatType).join(", ")} is too large to become a constant (${LARGEST_RESULT} elements at most, from ${LARGEST_OPERANDS})`,
      });
      continue;
    }
    const results = resultsOf(node, operands);
    if (typeof results === "string") {
      misses.push({ node: node.id, where: placeOf(node), why: results });
      continue;
    }
    results.forEach((value, output) => known.set(valueKey({ node: node.id, output }), rounded(value)));
  }
  return { known, misses };
}

/** A node that fails (an index outside a table) stays: it may be in a branch that never runs. */
function resultsOf(node: Node, operands: readonly HostTensor[]): readonly HostTensor[] | string {
  try {
    return opOf(node.op)?.reference(operands, node.attrs, node.outputs, []) ?? [];
  } catch (error) {
    const { code, message } = toWireError(error);
    if (code === "RUN_FAILED") return message;
    throw error;
  }
}

function foldable(node: Node, known: ReadonlyMap<string, HostTensor>): readonly HostTensor[] | undefined {
  if (isLeaf(node) || node.regions.length > 0 || !node.outputs.every(isStatic)) return undefined;
  const traits = opOf(node.op)?.traits ?? [];
  if (!traits.includes("pure") || traits.includes("random") || traits.includes("host")) return undefined;
  const operands = node.inputs.map((value) => known.get(valueKey(value)));
  return operands.every((x) => x !== undefined) ? operands : undefined;
}

export const constantFolding: Pass = walkingPass(
  {
    name: NAME,
    reason: "After duplicates are gone and before the fusions: known values need not be matched, planned or run.",
  },
  function* (graph) {
    const { known, misses } = knownValues(graph);
    yield;
    const folded = (node: Node): readonly HostTensor[] | undefined => {
      // An iota costs nothing at run time; as a constant it would cost its bytes.
      if (isLeaf(node) || node.inputs.length === 0) return undefined;
      const results = node.outputs.map((_, output) => known.get(valueKey({ node: node.id, output } satisfies Value)));
      return results.every((x) => x !== undefined) ? results : undefined;
    };
    if (!graph.nodes.some((node) => folded(node))) return unchanged(graph, misses);
    const {
      graph: next,
      moved,
      changed,
    } = yield* rewrite(opTable, graph, NAME, (node, _map, replace) => {
      const results = folded(node);
      if (!results) return undefined;
      const replacement = replace();
      return results.map((value) => replacement.constant(value));
    });
    return { graph: next, moved, hits: changed, misses };
  },
);
