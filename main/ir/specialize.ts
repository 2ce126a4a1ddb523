/** Binds symbols to sizes: the same graph with every bound symbol replaced in types and attributes, re-inferred. */
import { invariant } from "../diagnostics/errors.ts";
import type { AnyAttrSchema, AttrRecord, AttrValue } from "./attributes.ts";
import { GraphBuilder } from "./builder.ts";
import type { Sizes } from "./dim.ts";
import { dimSymbols } from "./dim.ts";
import type { Graph, Node, Value } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import { nodesWithin } from "./regions.ts";
import { copyNode } from "./rewrite.ts";
import { each, finish } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { bindType } from "./type.ts";

/** Nodes with symbols bound. What nodes share (attributes, lists of types) is bound once and shared again. */
class Binder {
  readonly #table: OpTable;
  readonly #bindings: Sizes;
  readonly #outputs = new Map<Node["outputs"], Node["outputs"]>();
  /** By op, because its schema says which attributes hold sizes. */
  readonly #attrs = new Map<string, Map<AttrRecord, AttrRecord>>();

  constructor(table: OpTable, bindings: Sizes) {
    this.#table = table;
    this.#bindings = bindings;
  }

  /** The node itself where there is nothing to bind. */
  node(node: Node): Node {
    const [outputs, attrs] = [this.#boundOutputs(node.outputs), this.#boundAttrs(node)];
    const regions = node.regions.map((region) => finish(specialize(this.#table, region, this.#bindings)));
    const same = outputs === node.outputs && attrs === node.attrs && regions.length === 0;
    if (same) return node;
    const { id, op, inputs, origins, passes } = node;
    return { id, op, inputs, attrs, outputs, origins, passes, regions };
  }

  #boundOutputs(types: Node["outputs"]): Node["outputs"] {
    const known = this.#outputs.get(types);
    if (known !== undefined) return known;
    const bound = types.map((type) => bindType(type, this.#bindings));
    const made = bound.every((type, i) => type === types[i]) ? types : bound;
    this.#outputs.set(types, made);
    return made;
  }

  #boundAttrs({ op, attrs }: Node): AttrRecord {
    const schema = this.#table.get(op)?.schema;
    if (schema === undefined) return attrs;
    const ofOp = this.#attrs.get(op) ?? new Map<AttrRecord, AttrRecord>();
    this.#attrs.set(op, ofOp);
    const known = ofOp.get(attrs);
    if (known !== undefined) return known;
    const made = bindAttrs(schema, attrs, this.#bindings);
    ofOp.set(attrs, made);
    return made;
  }
}

/** Attributes that hold sizes say how they are bound; any other stays as it is. */
function bindAttrs(schema: AnyAttrSchema, attrs: AttrRecord, bindings: Sizes): AttrRecord {
  const held = Object.keys(attrs).filter((key) => attrs[key] !== undefined && schema[key]?.bind !== undefined);
  if (held.length === 0) return attrs;
  const bound: Record<string, AttrValue | undefined> = { ...attrs };
  for (const key of held) {
    // The value passed the same schema's check, so its own `bind` takes it.
    const bind = schema[key]?.bind as ((value: AttrValue, bindings: Sizes) => AttrValue) | undefined;
    const value = attrs[key];
    if (bind !== undefined && value !== undefined) bound[key] = bind(value, bindings);
  }
  return bound;
}

/** Every symbol that `specialize` would bind: of types and of attributes, also in sub-graphs. */
export function symbolsWithin(table: OpTable, graph: Graph): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (symbols: readonly string[]): void => symbols.forEach((symbol) => found.add(symbol));
  for (const { op, attrs, outputs } of nodesWithin(graph)) {
    for (const { shape } of outputs) add(shape.flatMap(dimSymbols));
    const schema = table.get(op)?.schema ?? {};
    for (const [key, value] of Object.entries(attrs)) {
      // The value passed the same schema's check, so its own `symbols` takes it.
      const symbols = schema[key]?.symbols as ((value: AttrValue) => readonly string[]) | undefined;
      if (symbols !== undefined && value !== undefined) add(symbols(value));
    }
  }
  return found;
}

/** Nodes between two pauses. */
const SLICE = 512;

export function* specialize(table: OpTable, graph: Graph, bindings: Sizes): Steps<Graph> {
  const builder = new GraphBuilder(table, graph.name);
  const binder = new Binder(table, bindings);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `value ${old.node}.${old.output} is read before it is made`);
    return value;
  };
  yield* each(graph.nodes, SLICE, (node) => {
    values.push(copyNode(builder, graph, binder.node(node), map));
  });
  for (const [symbol, size] of Object.entries(graph.symbolLimits))
    if (!(symbol in bindings)) builder.limitSymbol(symbol, size);
  for (const output of graph.outputs) builder.output(output.name, map(output.value));
  for (const state of graph.states) builder.setState(state.name, map(state.output));
  return builder.finish();
}
