/** Batching: the graph that runs `size` items at once. Batched inputs and every result get the batch axis in front. */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { copyNode } from "../ir/rewrite.ts";
import type { NodeInfo } from "../ops/defineOp.ts";
import { expandOps, typeAt } from "../ops/expand.ts";
import { alignRank, asBatched } from "../ops/families/batching.ts";
import { opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

interface Batched {
  readonly value: Value;
  readonly batched: boolean;
}

/** `inputs` are the names of the inputs (or states) that differ from item to item. */
export function batchGraph(graph: Graph, inputs: readonly string[], size: Dim): Graph {
  const source = expandOps(graph, "expand for batching", (op) =>
    op.batching.kind === "decompose" ? op.batching.via : undefined,
  );
  const builder = new GraphBuilder(opTable, `${graph.name} batched`);
  const g = typedBuilder(builder);
  const values: (readonly Batched[])[] = [];
  const map = (old: Value): Batched => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[vmap] value ${old.node}.${old.output} is read before it is made`);
    return value;
  };
  for (const node of source.nodes) {
    const name = node.attrs["name"];
    const [type] = node.outputs;
    if ((node.op === "input" || node.op === "state") && typeof name === "string" && type && inputs.includes(name)) {
      const wide = { dtype: type.dtype, shape: [size, ...type.shape] };
      const value = node.op === "input" ? builder.input(name, wide) : builder.state(name, wide);
      values.push([{ value, batched: true }]);
    } else if (isLeaf(node) || node.inputs.every((input) => !map(input).batched)) {
      const plain = copyNode(builder, source, node, (old) => map(old).value);
      values.push(plain.map((value) => ({ value, batched: false })));
    } else {
      const results = batchNode(source, node, g, node.inputs.map(map), size);
      values.push(results.map((value) => ({ value, batched: true })));
    }
  }
  const wide = (old: Value): Value => {
    const { value, batched } = map(old);
    return asBatched(g, value, batched, size);
  };
  for (const output of source.outputs) builder.output(output.name, wide(output.value));
  for (const state of source.states)
    builder.setState(state.name, inputs.includes(state.name) ? wide(state.output) : map(state.output).value);
  return builder.finish();
}

function batchNode(graph: Graph, node: Node, g: OpBuilder, operands: readonly Batched[], size: Dim): readonly Value[] {
  const batching = opOf(node.op)?.batching;
  const info: NodeInfo<AttrRecord> = {
    inputs: node.inputs.map((value) => typeAt(graph, value)),
    outputs: node.outputs,
    attrs: node.attrs,
  };
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
    });
    return isList(result) ? result : [result];
  }
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[vmap] ${node.op} cannot be batched: ${batching?.kind === "unsupported" ? batching.reason : "no rule"}`,
  );
}

const isList = (values: Value | readonly Value[]): values is readonly Value[] => Array.isArray(values);
