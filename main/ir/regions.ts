/**
 * Sub-graphs of control flow. A region sees nothing but its inputs: operands are handed in by
 * position, so a region can be read, hashed, optimised and lowered by itself. It holds inputs,
 * constants and ops; weights and states come in as operands.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { isPacked } from "./dtype.ts";
import type { Graph, Node } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import type { TensorType } from "./type.ts";
import { formatType, sameType } from "./type.ts";

/**
 * A region inside a region inside a region: deeper nests are refused where they are built, so that
 * no walk can overflow.
 */
export const DEEPEST_NEST = 16;

export const regionInputs = (region: Graph): readonly TensorType[] =>
  region.inputs.map((id) => {
    const [type] = region.nodes[id]?.outputs ?? [];
    invariant(type, `input ${id} of ${region.name} has no type`);
    return type;
  });

export const regionOutputs = (region: Graph): readonly TensorType[] =>
  region.outputs.map(({ value }) => {
    const type = region.nodes[value.node]?.outputs[value.output];
    invariant(type, `an output of ${region.name} names a value that does not exist`);
    return type;
  });

/** The nodes of a graph and of all its sub-graphs, those of a node behind it. */
export function* nodesWithin({ nodes }: Graph): Generator<Node> {
  for (const node of nodes) {
    yield node;
    for (const region of node.regions) yield* nodesWithin(region);
  }
}

/** How deep regions are nested in a graph: 0 without any. */
export const nestOf = (graph: Graph): number =>
  graph.nodes.reduce((most, node) => Math.max(most, ...node.regions.map((region) => 1 + nestOf(region))), 0);

const list = (types: readonly TensorType[]): string => types.map(formatType).join(", ") || "nothing";

/** For `infer`: types that a region has to take or give. */
export function expectTypes(
  op: string,
  what: string,
  got: readonly TensorType[],
  expected: readonly TensorType[],
): void {
  if (
    got.length !== expected.length ||
    got.some((type, i) => expected[i] === undefined || !sameType(type, expected[i]))
  )
    throw new WorkbenchError("IR_TYPE", `[${op}] ${what}: got ${list(got)}, expected ${list(expected)}`);
}

/** For `infer`: weights are packed where they lie in their file, and what a graph works out never is. */
export function expectPlain(op: string, what: string, types: readonly TensorType[]): void {
  for (const type of types)
    if (isPacked(type.dtype))
      throw new WorkbenchError("IR_TYPE", `[${op}] ${what} is packed: got ${formatType(type)}, expected a plain type`);
}

/** What a region may not hold, as sentences; nothing when all is well. */
export function regionFaults(region: Graph): readonly string[] {
  const faults: string[] = [];
  for (const node of region.nodes)
    if (node.op === "param" || node.op === "state")
      faults.push(`node ${node.id} is a ${node.op}: a region is handed weights and states as operands`);
  if (region.states.length > 0) faults.push("a region has no states of its own");
  if (nestOf(region) >= DEEPEST_NEST) faults.push(`regions are nested deeper than ${DEEPEST_NEST}`);
  return faults;
}

/** "%7 then": which region of which node. */
export const regionPlace = (table: OpTable, node: Node, index: number): string =>
  `%${node.id} ${table.get(node.op)?.regionNames[index] ?? `region ${index}`}`;
