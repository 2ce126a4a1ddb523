/**
 * Batching: the graph that runs `size` items at once. Inside, the batch axis is in front of everything that differs from item
 * to item, and what does not differ is computed once; inputs and outputs may have it elsewhere.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim } from "../ir/dim.ts";
import { dimSymbols } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, isMemoryParam } from "../ir/graph.ts";
import { initialOf } from "../ir/initial.ts";
import { regionInputs } from "../ir/regions.ts";
import { rewindOf } from "../ir/rewind.ts";
import { specialize, symbolsWithin } from "../ir/specialize.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { normalizeAxis } from "../ir/type.ts";
import { asList } from "../ops/defineOp.ts";
import { expandOps, nodeInfo } from "../ops/expand.ts";
import { alignRank, asBatched } from "../ops/families/batching.ts";
import { makeRegion, opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { wrongName } from "./names.ts";

interface Batched {
  readonly value: Value;
  readonly batched: boolean;
}

const expandForBatching = (graph: Graph): Graph =>
  expandOps(graph, "expand for batching", (op) => (op.batching.kind === "decompose" ? op.batching.via : undefined));

/** Where the batch axis is: a place among the axes, or null where a value is the same for all items. */
export type BatchAxis = number | null;

export interface BatchRequest {
  /** Number of items: a number or a symbol. */
  readonly size: Dim;
  /** Inputs, states and parameters in memory that differ from item to item, by name; those not named do not. */
  readonly inAxes: Readonly<Record<string, BatchAxis>>;
  /** Of all outputs, or by name; 0 (in front) where none is given. */
  readonly outAxes?: BatchAxis | Readonly<Record<string, BatchAxis>>;
}

/** All of `inputs` with the batch axis in front, and every output. */
export const batchGraph = (graph: Graph, inputs: readonly string[], size: Dim): Graph =>
  mapGraph(graph, { size, inAxes: Object.fromEntries(inputs.map((name) => [name, 0])) });

/** Of a size that the graph does not know: with one of its own symbols, items and rows would be as many. */
export function mapGraph(graph: Graph, request: BatchRequest): Graph {
  const known = new Set([...symbolsWithin(opTable, withoutRules(graph)), ...Object.keys(graph.symbolLimits)]);
  const taken = (typeof request.size === "string" ? dimSymbols(request.size) : []).find((name) => known.has(name));
  if (taken === undefined) return mapItems(graph, request);
  const free = freeSymbol(known);
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[vmap] size: got ${request.size}, expected another symbol or a number: the graph has a symbol ${taken}`,
    { hint: `Take ${free}.`, details: { free } },
  );
}

/** Rules of a function have a symbol of their own for the number of items, which becomes the one that is asked for. */
const withoutRules = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => {
    const regions = node.op === "custom_fn" ? node.regions.slice(0, 1) : node.regions;
    return regions.length === 0 ? node : { ...node, regions: regions.map(withoutRules) };
  }),
});

function freeSymbol(known: ReadonlySet<string>): string {
  const found = ["N", "B", "M"].find((name) => !known.has(name));
  if (found !== undefined) return found;
  let i = 1;
  while (known.has(`N${i}`)) i++;
  return `N${i}`;
}

/** The same of any size: for directions there are as many as the graph's own sizes say. */
export function mapItems(graph: Graph, { size, inAxes, outAxes = 0 }: BatchRequest): Graph {
  const source = expandForBatching(graph);
  const axes = new Map(Object.entries(inAxes).filter((entry): entry is [string, number] => entry[1] !== null));
  checkMapped(source, Object.keys(inAxes), axes);
  const builder = new GraphBuilder(opTable, `${graph.name} batched`);
  for (const [symbol, most] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, most);
  const g = typedBuilder(builder);
  const map = batchNodes(source, g, size, (node) => {
    const name = String(node.attrs["name"]);
    const [type] = node.outputs;
    const axis = isLeaf(node) && node.op !== "constant" ? axes.get(name) : undefined;
    if (axis !== undefined && type !== undefined) {
      const place = normalizeAxis(axis, type.shape.length + 1, `vmap ${name}`);
      const wide = { dtype: type.dtype, shape: type.shape.toSpliced(place, 0, size) };
      return { value: toFront(g, wideLeaf(builder, node, name, wide), place), batched: true };
    }
    const [value] = isLeaf(node) ? builder.adopt(node, [], source.constants) : [];
    return value && { value, batched: false };
  });
  const axesOut = outAxesOf(source, outAxes);
  for (const output of source.outputs) {
    const { value, batched } = map(output.value);
    const axis = axesOut(output.name);
    if (axis === null && batched)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[vmap] outAxes ${output.name}: got null, expected an axis: it differs from item to item`,
      );
    const wide = axis === null ? value : asBatched(g, value, batched, size);
    const rank = builder.typeOf(wide).shape.length;
    builder.output(
      output.name,
      axis === null ? wide : fromFront(g, wide, normalizeAxis(axis, rank, `vmap ${output.name}`)),
    );
  }
  for (const { name, output } of source.states) {
    const { value, batched } = map(output);
    const axis = axes.get(name);
    if (axis === undefined && batched)
      throw new WorkbenchError("INPUT_ARGUMENT", `[vmap] inAxes ${name}: got none, expected an axis`, {
        hint: "The next value of this state differs from item to item.",
      });
    const wide = axis === undefined ? value : asBatched(g, value, batched, size);
    const rank = builder.typeOf(wide).shape.length;
    builder.setState(name, axis === undefined ? wide : fromFront(g, wide, normalizeAxis(axis, rank, "vmap")));
  }
  return builder.finish();
}

function checkMapped(graph: Graph, names: readonly string[], axes: ReadonlyMap<string, number>): void {
  const leaves = graph.nodes.filter((node) => isLeaf(node) && node.op !== "constant");
  const byName = new Map(leaves.map((node) => [String(node.attrs["name"]), node]));
  const unknown = names.find((name) => !byName.has(name));
  if (unknown !== undefined) throw wrongName("vmap", "inAxes", unknown, [...byName.keys()]);
  for (const name of axes.keys()) {
    const node = byName.get(name);
    if (node?.op === "param" && !isMemoryParam(node))
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[vmap] inAxes ${name}: got a weight of a file, expected an input, a state or a parameter in memory`,
        { hint: "A file has one of it. Make it an input of the graph." },
      );
  }
}

function wideLeaf(builder: GraphBuilder, node: Node, name: string, type: TensorType): Value {
  const initial = initialOf(node.attrs);
  const own = initial === undefined ? {} : { initial };
  if (node.op === "input") return builder.input(name, type);
  if (node.op === "param") return builder.param(name, type, { memory: true, ...own });
  const { spare } = node.attrs;
  return builder.state(name, type, { rewind: rewindOf(node), ...(typeof spare === "number" && { spare }), ...own });
}

function outAxesOf(graph: Graph, outAxes: NonNullable<BatchRequest["outAxes"]> | null): (name: string) => BatchAxis {
  if (outAxes === null || typeof outAxes === "number") return () => outAxes;
  const known = graph.outputs.map(({ name }) => name);
  const unknown = Object.keys(outAxes).find((name) => !known.includes(name));
  if (unknown !== undefined) throw wrongName("vmap", "outAxes", unknown, known);
  return (name) => (name in outAxes ? (outAxes[name] ?? null) : 0);
}

/** The axis at `place` in front, the others in their order; and back. */
function toFront(g: OpBuilder, x: Value, place: number): Value {
  const others = [...g.typeOf(x).shape.keys()].filter((axis) => axis !== place);
  return place === 0 ? x : g.transpose([x], { perm: [place, ...others] });
}

function fromFront(g: OpBuilder, x: Value, place: number): Value {
  const others = [...g.typeOf(x).shape.keys()].slice(1);
  return place === 0 ? x : g.transpose([x], { perm: others.toSpliced(place, 0, 0) });
}

/** The same for a sub-graph, by position; every output has the batch axis. */
function batchOf(region: Graph, batched: readonly boolean[], size: Dim): Graph {
  const source = expandForBatching(region);
  const types = regionInputs(source).map((type, i) =>
    batched[i] === true ? { dtype: type.dtype, shape: [size, ...type.shape] } : type,
  );
  return makeRegion(`${region.name} batched`, types, (g, ...operands) => {
    const map = batchNodes(source, g, size, (node) => {
      const data = node.op === "constant" ? source.constants.get(String(node.attrs["data"])) : undefined;
      if (data) return { value: g.constant(data), batched: false };
      const place = node.op === "input" ? source.inputs.indexOf(node.id) : -1;
      const value = operands[place];
      return value && { value, batched: batched[place] === true };
    });
    return source.outputs.map((output) => {
      const { value, batched: wide } = map(output.value);
      return asBatched(g, value, wide, size);
    });
  });
}

/** Walks the nodes; `leafOf` says what a leaf becomes. What depends on nothing batched stays as it is. */
function batchNodes(
  source: Graph,
  g: OpBuilder,
  size: Dim,
  leafOf: (node: Node) => Batched | undefined,
): (old: Value) => Batched {
  const values: (readonly Batched[])[] = [];
  const map = (old: Value): Batched => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[vmap] value ${old.node}.${old.output} is read before it is made`);
    return value;
  };
  for (const node of source.nodes) {
    const leaf = leafOf(node);
    if (leaf) values.push([leaf]);
    else if (node.inputs.every((input) => !map(input).batched)) {
      const operands = node.inputs.map((old) => map(old).value);
      const plain = g.graph.apply(node.op, operands, node.attrs, {
        regions: node.regions,
        origins: node.origins,
        passes: node.passes,
      });
      values.push(plain.map((value) => ({ value, batched: false })));
    } else {
      const results = batchNode(source, node, g, node.inputs.map(map), size);
      values.push(results.map((value) => ({ value, batched: true })));
    }
  }
  return map;
}

function batchNode(graph: Graph, node: Node, g: OpBuilder, operands: readonly Batched[], size: Dim): readonly Value[] {
  const batching = opOf(node.op)?.batching;
  const info = nodeInfo(graph, node);
  if (batching?.kind === "elementwise") {
    const rank = Math.max(...info.inputs.map((type) => type.shape.length));
    return g.graph.apply(
      node.op,
      operands.map(({ value, batched }) => alignRank(g, value, batched, rank)),
      node.attrs,
    );
  }
  if (batching?.kind === "rule") {
    const result = batching.rule({
      g,
      inputs: operands.map(({ value }) => value),
      batched: operands.map(({ batched }) => batched),
      size,
      attrs: node.attrs,
      node: info,
      batchOf: (region, batched) => batchOf(region, batched, size),
      boundOf: (region, sizes) => finish(specialize(opTable, region, sizes)),
    });
    return asList(result);
  }
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[vmap] ${node.op} cannot be batched: ${batching?.kind === "unsupported" ? batching.reason : "no rule"}`,
  );
}
