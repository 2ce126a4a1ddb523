/**
 * Given: an `if` with a known predicate; a `while` or `scan` without a turn, because its condition
 * is false at the start or its limit is 0; operands of any that are small constants, or that no
 * sub-graph reads; rows of a `scan` that nothing reads.
 * Result: the branch itself; the values at the start; constants moved inside, unread operands and
 * rows removed.
 */
import { finish } from "../ir/steps.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { valueKey } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { inlineGraph } from "../ir/nested.ts";
import { regionInputs } from "../ir/regions.ts";
import type { Replacement } from "../ir/rewrite.ts";
import { rewrite } from "../ir/rewrite.ts";
import { makeRegion, opTable } from "../ops/index.ts";
import { knownValues } from "./constantFolding.ts";
import { readInputs, readValues, simplerScan } from "./scans.ts";
import type { Pass } from "../ir/pass.ts";
import { unchanged } from "../ir/pass.ts";

const NAME = "control flow";
/** Larger constants stay outside: each sub-graph that reads one would hold a copy. */
const LARGEST_INSIDE = 64;

type Known = ReadonlyMap<string, HostTensor>;

/** The branch that is always taken, or undefined. */
function branchOf(node: Node, known: Known): Graph | undefined {
  const [predicate] = node.inputs;
  const flag = node.op === "if" && predicate ? known.get(valueKey(predicate)) : undefined;
  return flag && node.regions[flag.data[0] === 0 ? 1 : 0];
}

function turnsNever(node: Node, known: Known): boolean {
  if (node.op !== "while") return false;
  if (node.attrs["maxIterations"] === 0) return true;
  const [condition] = node.regions;
  const value = condition?.outputs[0]?.value;
  if (condition === undefined || value === undefined) return false;
  const inside = knownValues(
    condition,
    node.inputs.map((input) => known.get(valueKey(input))),
  );
  return inside.known.get(valueKey(value))?.data[0] === 0;
}

/** Operands from here on are the same for all turns and both branches. */
const firstFixed = (node: Node): number => (node.op === "while" ? Number(node.attrs["carried"]) : 1);

interface Operands {
  /** Positions of the operands that stay, the predicate or the carried ones first. */
  readonly kept: readonly number[];
  readonly inside: ReadonlyMap<number, HostTensor>;
}

/** Which operands can be dropped; undefined when all are needed. */
function operandsOf(node: Node, constants: Known): Operands | undefined {
  const fixed = firstFixed(node);
  // The predicate of an `if` is no input of its sub-graphs.
  const shift = node.op === "if" ? 1 : 0;
  const read = node.regions.map(readInputs);
  const inside = new Map<number, HostTensor>();
  const kept = node.inputs.flatMap((input, i) => {
    if (i < fixed) return [i];
    if (!read.some((positions) => positions.has(i - shift))) return [];
    const value = constants.get(valueKey(input));
    if (value === undefined || value.data.length > LARGEST_INSIDE) return [i];
    inside.set(i, value);
    return [];
  });
  return kept.length === node.inputs.length ? undefined : { kept, inside };
}

/** The region over the operands that stay, with the constants inside. */
function narrowed(node: Node, region: Graph, { kept, inside }: Operands): Graph {
  const shift = node.op === "if" ? 1 : 0;
  const types = regionInputs(region);
  const stay = kept.map((i) => i - shift).filter((i) => i >= 0);
  const chosen = stay.map((i) => types[i]).filter((type) => type !== undefined);
  return makeRegion(region.name, chosen, (g, ...operands) => {
    const all = types.map((_, i): Value => {
      const data = inside.get(i + shift);
      const value = data ? g.constant(data) : (operands[stay.indexOf(i)] ?? operands[0]);
      // An unread operand may have any value.
      return value ?? g.constant({ dtype: "bool", shape: [], data: new Float64Array(1) });
    });
    return inlineGraph(g.graph, region, all);
  });
}

function simpler(
  node: Node,
  known: Known,
  constants: Known,
  map: (old: Value) => Value,
  replace: () => Replacement,
): readonly Value[] | undefined {
  if (node.op !== "if" && node.op !== "while") return undefined;
  const branch = branchOf(node, known);
  if (branch) return inlineGraph(replace(), branch, node.inputs.slice(1).map(map));
  if (turnsNever(node, known)) return node.inputs.slice(0, node.outputs.length).map(map);
  const operands = operandsOf(node, constants);
  if (operands === undefined) return undefined;
  const regions = node.regions.map((region) => narrowed(node, region, operands));
  const inputs = operands.kept.map((i) => {
    const input = node.inputs[i];
    invariant(input, "a kept operand is there");
    return map(input);
  });
  return replace().apply(node.op, inputs, node.attrs, { regions });
}

export const controlFlow: Pass = {
  name: NAME,
  reason:
    "After duplicates are gone and before constants are folded: a branch that is always taken becomes ordinary nodes, and a constant operand of a sub-graph can be folded inside it.",
  run: (graph) => {
    if (!graph.nodes.some((node) => node.regions.length > 0)) return unchanged(graph);
    const { known } = knownValues(graph);
    const constants = new Map(
      graph.nodes.flatMap((node) => {
        const data = node.op === "constant" ? graph.constants.get(String(node.attrs["data"])) : undefined;
        return data ? [[valueKey({ node: node.id, output: 0 }), data] as const] : [];
      }),
    );
    let read: ReadonlySet<string> | undefined;
    const insideOf = (value: Value): HostTensor | undefined => {
      const data = constants.get(valueKey(value));
      return data !== undefined && data.data.length <= LARGEST_INSIDE ? data : undefined;
    };
    const result = finish(
      rewrite(opTable, graph, NAME, (node, map, replace) =>
        node.op === "scan"
          ? simplerScan(node, (read ??= readValues(graph)), insideOf, map, () => replace())
          : simpler(node, known, constants, map, () => replace()),
      ),
    );
    return { graph: result.graph, moved: result.moved, hits: result.changed, misses: [] };
  },
};
