/** Binds symbols to sizes: the same graph with every bound symbol replaced in types and attributes, re-inferred. */
import { invariant } from "../diagnostics/errors.ts";
import type { AttrRecord, AttrValue } from "./attributes.ts";
import { GraphBuilder } from "./builder.ts";
import type { Bindings } from "./dim.ts";
import { bindDim } from "./dim.ts";
import type { Graph, Value } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import { copyNode } from "./rewrite.ts";
import { bindType } from "./type.ts";

/** Attributes whose schema says "size" hold dims; anything else stays as it is. */
function bindAttrs(table: OpTable, op: string, attrs: AttrRecord, bindings: Bindings): AttrRecord {
  const schema = table.get(op)?.schema;
  if (!schema) return attrs;
  const result: Record<string, AttrValue | undefined> = {};
  for (const [key, value] of Object.entries(attrs)) {
    const holdsDims = schema[key]?.expects.includes("symbol") === true;
    if (!holdsDims) result[key] = value;
    else if (Array.isArray(value)) result[key] = value.map((dim) => (isDim(dim) ? bindDim(dim, bindings) : dim));
    else result[key] = isDim(value) ? bindDim(value, bindings) : value;
  }
  return result;
}

const isDim = (value: unknown): value is number | string => typeof value === "number" || typeof value === "string";

export function specialize(table: OpTable, graph: Graph, bindings: Bindings): Graph {
  const builder = new GraphBuilder(table, graph.name);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, `value ${old.node}.${old.output} is read before it is made`);
    return value;
  };
  for (const node of graph.nodes) {
    const bound = {
      ...node,
      outputs: node.outputs.map((type) => bindType(type, bindings)),
      attrs: bindAttrs(table, node.op, node.attrs, bindings),
    };
    values.push(copyNode(builder, graph, bound, map));
  }
  for (const [symbol, size] of Object.entries(graph.symbolLimits))
    if (!(symbol in bindings)) builder.limitSymbol(symbol, size);
  for (const output of graph.outputs) builder.output(output.name, map(output.value));
  for (const state of graph.states) builder.setState(state.name, map(state.output));
  return builder.finish();
}
