/** Binds symbols to sizes: the same graph with every bound symbol replaced in types and attributes, re-inferred. */
import { invariant } from "../diagnostics/errors.ts";
import type { AttrRecord, AttrValue } from "./attributes.ts";
import { GraphBuilder } from "./builder.ts";
import type { Bindings } from "./dim.ts";
import type { Graph, Value } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import { copyNode } from "./rewrite.ts";
import { each, finish } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { bindType } from "./type.ts";

/** Attributes that hold sizes say how they are bound; any other stays as it is. */
function bindAttrs(table: OpTable, op: string, attrs: AttrRecord, bindings: Bindings): AttrRecord {
  const schema = table.get(op)?.schema;
  if (!schema) return attrs;
  return Object.fromEntries(
    Object.entries(attrs).map(([key, value]) => {
      // The value passed the same schema's check, so its own `bind` takes it.
      const bind = schema[key]?.bind as ((value: AttrValue, bindings: Bindings) => AttrValue) | undefined;
      return [key, value === undefined || bind === undefined ? value : bind(value, bindings)];
    }),
  );
}

export const specialize = (table: OpTable, graph: Graph, bindings: Bindings): Graph =>
  finish(specializeInSteps(table, graph, bindings));

/** Nodes between two pauses. */
const SLICE = 512;

export function* specializeInSteps(table: OpTable, graph: Graph, bindings: Bindings): Steps<Graph> {
  const builder = new GraphBuilder(table, graph.name);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `value ${old.node}.${old.output} is read before it is made`);
    return value;
  };
  yield* each(graph.nodes, SLICE, (node) => {
    const bound = {
      ...node,
      outputs: node.outputs.map((type) => bindType(type, bindings)),
      attrs: bindAttrs(table, node.op, node.attrs, bindings),
    };
    values.push(copyNode(builder, graph, bound, map));
  });
  for (const [symbol, size] of Object.entries(graph.symbolLimits))
    if (!(symbol in bindings)) builder.limitSymbol(symbol, size);
  for (const output of graph.outputs) builder.output(output.name, map(output.value));
  for (const state of graph.states) builder.setState(state.name, map(state.output));
  return builder.finish();
}
