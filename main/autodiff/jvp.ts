/**
 * Forward mode: a graph in, a graph with tangents out. The tangent of a node is the transpose of
 * its gradient rule, which is linear in the cotangent: the rule applied to a node gives v ↦ Jᵀv,
 * and the gradient of that with respect to v gives u ↦ Ju. So every op with a gradient has a
 * tangent; one with a rule of its own for it is asked first. Branches and loops stay: a loop
 * carries its tangents along, so it needs no limit, unlike in reverse mode.
 */
import { invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isContinuous } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import { inlineGraph, inlineNodes } from "../ir/nested.ts";
import { regionInputs, regionOutputs } from "../ir/regions.ts";
import { prune } from "../ir/rewrite.ts";
import type { TensorType } from "../ir/type.ts";
import { nodeInfo, typeAt } from "../ops/expand.ts";
import { filled, filledLike } from "../ops/families/constants.ts";
import type { ScanAttrs } from "../ops/families/turns.ts";
import { scanLists, scanOver } from "../ops/families/turns.ts";
import { makeRegion, opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { checkNew, leavesOf, outputOf } from "./names.ts";
import { copyAll, expandForGradients, gradientOf, itemAt } from "./vjp.ts";

export interface TangentRequest {
  /** Outputs to differentiate; their tangents become outputs `tangent.<name>`. */
  readonly of: readonly string[];
  /** Inputs, weights or states by name; their tangents become inputs `tangent.<name>`. */
  readonly wrt: readonly string[];
  /** Of these inputs and outputs, instead of "tangent": where the graph has some already. */
  readonly prefix?: string;
}

export const tangentName = (name: string, prefix = "tangent"): string => `${prefix}.${name}`;

/** The graph's outputs, and the Jacobian-vector product of the requested ones. */
export function tangentGraph(graph: Graph, { of, wrt, prefix }: TangentRequest): Graph {
  const source = expandForGradients(graph);
  const leaves = leavesOf("jvp", source, wrt);
  const made = (names: readonly string[]): readonly string[] => names.map((name) => tangentName(name, prefix));
  checkNew("jvp", source, made(wrt), "input");
  checkNew("jvp", source, made(of));
  const builder = new GraphBuilder(opTable, `${graph.name} tangent`);
  const g = typedBuilder(builder);
  const map = copyAll(builder, source);
  const tangents: Tangents = new Map();
  wrt.forEach((name, i) => {
    const value: Value = { node: itemAt(leaves, i).id, output: 0 };
    tangents.set(valueKey(value), builder.input(tangentName(name, prefix), typeAt(source, value)));
  });
  push(source, g, map, tangents);
  for (const name of of) {
    const output = outputOf("jvp", source, name);
    const tangent = tangents.get(valueKey(output.value)) ?? filledLike(g, map(output.value), 0);
    builder.output(tangentName(name, prefix), tangent);
  }
  return prune(builder.finish()).graph;
}

/** Tangents of values of the source graph; values that depend on no input to differentiate have none. */
type Tangents = Map<string, Value>;

/** Walks the nodes of a graph that is in `g` already. */
function push(source: Graph, g: OpBuilder, map: (old: Value) => Value, tangents: Tangents): void {
  for (const node of source.nodes) {
    if (isLeaf(node) || !node.inputs.some((input) => tangents.has(valueKey(input)))) continue;
    if (!node.outputs.some(({ dtype }) => isContinuous(dtype))) continue;
    const given = node.inputs.map((input) => tangents.get(valueKey(input)));
    const results = node.outputs.map((_, output) => map({ node: node.id, output }));
    const made = tangentsOf(source, node, g, { inputs: node.inputs.map(map), results }, given);
    made.forEach((tangent, output) => {
      if (tangent) tangents.set(valueKey({ node: node.id, output }), tangent);
    });
  }
}

type Given = readonly (Value | undefined)[];

interface Made {
  readonly inputs: readonly Value[];
  readonly results: readonly Value[];
}

function tangentsOf(source: Graph, node: Node, g: OpBuilder, { inputs, results }: Made, given: Given): Given {
  if (node.op === "if") return ofBranches(node, g, inputs, given);
  if (node.op === "while") return ofLoop(node, g, inputs, given);
  if (node.op === "scan") return ofScan(node, g, inputs, given);
  const { attrs } = node;
  const info = nodeInfo(source, node);
  const own = opOf(node.op)?.tangent?.({
    ...{ g, inputs, outputs: results, tangents: given, attrs, node: info, tangentOf: withTangents },
  });
  if (own !== undefined) return own;
  const types = info.inputs;
  return ofNode(node, types, g, inputs, given);
}

const places = (items: readonly unknown[], holds: (index: number) => boolean): readonly number[] =>
  items.flatMap((_, i) => (holds(i) ? [i] : []));
const floats = (types: readonly TensorType[]): readonly number[] =>
  places(types, (i) => isContinuous(types[i]?.dtype ?? "bool"));
const present = (given: Given): readonly Value[] => given.filter((value) => value !== undefined);

/** The transpose of the gradient rule, as nodes. */
function ofNode(node: Node, types: readonly TensorType[], g: OpBuilder, inputs: readonly Value[], given: Given): Given {
  const of = floats(node.outputs);
  const wrt = places(given, (i) => given[i] !== undefined);
  const single = makeRegion(node.op, types, (h, ...operands) =>
    h.graph.apply(node.op, operands, node.attrs, { regions: node.regions }),
  );
  const pullback = gradientOf(single, of, wrt);
  const cotangents = of.map((_, i) => types.length + i);
  const pushed = gradientOf(
    pullback,
    places(wrt, () => true),
    cotangents,
  );
  // The rule is linear in its cotangents, so it does not matter where it is differentiated.
  const anywhere = of.map((i) => zerosOf(g, itemAt(node.outputs, i)));
  const results = inlineGraph(g.graph, pushed, [...inputs, ...anywhere, ...present(given)]);
  return node.outputs.map((_, i) => results[of.indexOf(i)]);
}

function zerosOf(g: OpBuilder, type: TensorType): Value {
  const { dtype } = type;
  const isKnown = dtype === "f32" || dtype === "f64" || dtype === "f16" || dtype === "bf16" || dtype === "c64";
  invariant(isKnown, `[jvp] ${dtype} is no float`);
  return filled(g, dtype, type.shape, 0);
}

/**
 * A region that gives its results and the tangents of the float ones; inputs `wrt` have tangents,
 * which come after all inputs.
 */
function withTangents(region: Graph, wrt: readonly number[]): Graph {
  const source = expandForGradients(region);
  const types = regionInputs(source);
  const extra = wrt.map((i) => itemAt(types, i));
  return makeRegion(`${region.name} tangent`, [...types, ...extra], (g, ...operands) => {
    const map = inlineNodes(g.graph, source, operands);
    const tangents: Tangents = new Map();
    wrt.forEach((place, i) => {
      tangents.set(valueKey({ node: itemAt(source.inputs, place), output: 0 }), itemAt(operands, types.length + i));
    });
    push(source, g, map, tangents);
    const results = source.outputs.map(({ value }) => value);
    const moved = floats(regionOutputs(source)).map((i) => itemAt(results, i));
    return [
      ...results.map(map),
      ...moved.map((value) => tangents.get(valueKey(value)) ?? filledLike(g, map(value), 0)),
    ];
  });
}

function ofBranches(node: Node, g: OpBuilder, inputs: readonly Value[], given: Given): Given {
  const wrt = places(given, (i) => given[i] !== undefined).map((i) => i - 1);
  const regions = node.regions.map((region) => withTangents(region, wrt));
  const results = g.if([...inputs, ...present(given)], {}, "tangent", regions);
  return afterResults(node, results);
}

/** The tangents that a node with sub-graphs gives behind its results. */
function afterResults(node: Node, results: readonly Value[]): Given {
  const moved = floats(node.outputs);
  return node.outputs.map((_, i) => (moved.includes(i) ? results[node.outputs.length + moved.indexOf(i)] : undefined));
}

/** Carried: the values, then the tangents of the float ones. Behind them what stays, and the tangents of that. */
function ofLoop(node: Node, g: OpBuilder, inputs: readonly Value[], given: Given): Given {
  const carried = node.outputs.length;
  const moved = floats(node.outputs);
  const fixed = places(given, (i) => i >= carried && given[i] !== undefined);
  const start = moved.map((i) => given[i] ?? filledLike(g, itemAt(inputs, i), 0));
  const operands = [
    ...inputs.slice(0, carried),
    ...start,
    ...inputs.slice(carried),
    ...fixed.map((i) => itemAt(given, i)).filter((value) => value !== undefined),
  ];
  const types = operands.map((value) => g.typeOf(value));
  const rest = inputs.length - carried;
  const behind = carried + moved.length;
  const plain = (all: readonly Value[]): readonly Value[] => [
    ...all.slice(0, carried),
    ...all.slice(behind, behind + rest),
  ];
  const [condition, body] = [itemAt(node.regions, 0), itemAt(node.regions, 1)];
  const turn = withTangents(body, [...moved, ...fixed]);
  const regions = [
    makeRegion(condition.name, types, (h, ...all) => inlineGraph(h.graph, condition, plain(all))),
    makeRegion(turn.name, types, (h, ...all) =>
      inlineGraph(h.graph, turn, [...plain(all), ...all.slice(carried, behind), ...all.slice(behind + rest)]),
    ),
  ];
  const attrs = { ...node.attrs, carried: behind };
  return afterResults(node, g.while(operands, attrs, "tangent", regions));
}

/** Carried and scanned values have their tangents behind them, and so do the rows that are given. */
function ofScan(node: Node, g: OpBuilder, inputs: readonly Value[], given: Given): Given {
  const attrs = node.attrs as unknown as ScanAttrs;
  const { carried, scanned } = attrs;
  const rowsAt = inputs.length - scanned;
  const moved = floats(node.outputs);
  const carries = moved.filter((i) => i < carried);
  const fixed = places(given, (i) => i >= carried && i < rowsAt && given[i] !== undefined);
  const rows = places(given, (i) => i >= rowsAt && given[i] !== undefined);
  const body = withTangents(itemAt(node.regions, 0), [...carries, ...fixed, ...rows]);
  const own = scanLists(inputs, attrs);
  const of = (indices: readonly number[]): readonly Value[] => present(indices.map((i) => given[i]));
  const start = carries.map((i) => given[i] ?? filledLike(g, itemAt(inputs, i), 0));
  const { length, reverse, checkpoints } = attrs;
  const made = scanOver(
    g,
    {
      ...{ carry: [...own.carry, ...start], fixed: [...own.fixed, ...of(fixed)], rows: [...own.rows, ...of(rows)] },
      ...{ length, reverse, label: "tangent" },
      ...(checkpoints !== undefined && { checkpoints }),
    },
    (h, turn) => {
      const [kept, turned] = [turn.fixed.length - fixed.length, turn.rows.length - rows.length];
      const plain = [...turn.carry.slice(0, carried), ...turn.fixed.slice(0, kept), ...turn.rows.slice(0, turned)];
      const moving = [...turn.carry.slice(carried), ...turn.fixed.slice(kept), ...turn.rows.slice(turned)];
      const results = inlineGraph(h.graph, body, [...plain, ...moving]);
      const tangentAt = (i: number): Value => itemAt(results, node.outputs.length + moved.indexOf(i));
      return {
        carry: [...results.slice(0, carried), ...carries.map(tangentAt)],
        rows: [...results.slice(carried, node.outputs.length), ...moved.filter((i) => i >= carried).map(tangentAt)],
      };
    },
  );
  const stacked = made.rows.slice(node.outputs.length - carried);
  const tangents = [...made.carry.slice(carried), ...stacked];
  return node.outputs.map((_, i) => (moved.includes(i) ? tangents[moved.indexOf(i)] : undefined));
}
