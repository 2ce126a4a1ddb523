/** What the pass over control flow does with a `scan`: fewer results, fewer operands, no node for no turn. */
import type { Graph, Node, Value } from "../ir/graph.ts";
import { rootsOf, valueKey } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { inlineGraph } from "../ir/nested.ts";
import { regionInputs } from "../ir/regions.ts";
import type { Replacement } from "../ir/rewrite.ts";
import { prune } from "../ir/rewrite.ts";
import { makeRegion } from "../ops/index.ts";

/** Values that something reads. */
export function readValues(graph: Graph): ReadonlySet<string> {
  const read = new Set(rootsOf(graph).map(valueKey));
  for (const node of graph.nodes) for (const input of node.inputs) read.add(valueKey(input));
  return read;
}

/** Positions of the inputs that something in the region reads or hands through. */
export function readInputs(region: Graph): ReadonlySet<number> {
  const read = new Set<number>();
  for (const node of region.nodes) for (const input of node.inputs) read.add(input.node);
  for (const { value } of region.outputs) read.add(value.node);
  return new Set(region.inputs.flatMap((id, i) => (read.has(id) ? [i] : [])));
}

interface Trimmed {
  /** Positions of the results that stay: the carried ones, and the rows that something reads. */
  readonly results: readonly number[];
  /** Positions of the operands that stay. */
  readonly operands: readonly number[];
  readonly body: Graph;
}

type Insides = (value: Value) => HostTensor | undefined;

/** The scan without what is not needed; undefined where all of it is. `insideOf` gives constants that may go into the body. */
function trimmed(node: Node, read: ReadonlySet<string>, insideOf: Insides): Trimmed | undefined {
  const [body] = node.regions;
  if (body === undefined) return undefined;
  const [carried, scanned] = [Number(node.attrs["carried"]), Number(node.attrs["scanned"])];
  const results = node.outputs.flatMap((_, output) =>
    output < carried || read.has(valueKey({ node: node.id, output })) ? [output] : [],
  );
  // A scan without a result is gone as a whole when nothing reads it.
  if (results.length === 0) return undefined;
  const outputs = results.map((i) => body.outputs[i]).filter((output) => output !== undefined);
  const needed = prune({ ...body, outputs }).graph;
  const used = readInputs(needed);
  const inside = new Map<number, HostTensor>();
  const operands = node.inputs.flatMap((input, i) => {
    if (i < carried) return [i];
    if (!used.has(i)) return [];
    const value = i < node.inputs.length - scanned ? insideOf(input) : undefined;
    if (value === undefined) return [i];
    inside.set(i, value);
    return [];
  });
  // An op has an operand.
  if (operands.length === 0) operands.push(0);
  if (results.length === node.outputs.length && operands.length === node.inputs.length) return undefined;
  const types = regionInputs(body);
  const kept = operands.map((i) => types[i]).filter((type) => type !== undefined);
  const narrowed = makeRegion(body.name, kept, (g, ...values) => {
    const all = types.map((_, i): Value => {
      const data = inside.get(i);
      // An unread operand may have any value.
      return data ? g.constant(data) : (values[operands.indexOf(i)] ?? g.constant(NOTHING));
    });
    return inlineGraph(g.graph, needed, all);
  });
  return { results, operands, body: prune(narrowed).graph };
}

const NOTHING: HostTensor = { dtype: "bool", shape: [], data: new Float64Array(1) };

/** Values for the results of a scan in its simpler form, or undefined where there is none. */
export function simplerScan(
  node: Node,
  read: ReadonlySet<string>,
  insideOf: Insides,
  map: (old: Value) => Value,
  replace: () => Replacement,
): readonly Value[] | undefined {
  const carried = Number(node.attrs["carried"]);
  if (node.attrs["length"] === 0 && carried === node.outputs.length) return node.inputs.slice(0, carried).map(map);
  const made = trimmed(node, read, insideOf);
  if (made === undefined) return undefined;
  const { results, operands, body } = made;
  const rowsAt = node.inputs.length - Number(node.attrs["scanned"]);
  const attrs = { ...node.attrs, scanned: operands.filter((i) => i >= rowsAt).length };
  const inputs = operands.flatMap((i) => node.inputs[i] ?? []).map(map);
  const values = replace().apply("scan", inputs, attrs, { regions: [body] });
  const [first] = values;
  // Results that are gone have no readers.
  return node.outputs.flatMap((_, i) => values[results.indexOf(i)] ?? first ?? []);
}
