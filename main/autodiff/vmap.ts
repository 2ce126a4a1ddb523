/** Batching: the graph that runs `size` items at once. Batched inputs and every result get the batch axis in front. */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import { regionInputs } from "../ir/regions.ts";
import { rewindOf } from "../ir/rewind.ts";
import { asList } from "../ops/defineOp.ts";
import { expandOps, nodeInfo } from "../ops/expand.ts";
import { alignRank, asBatched } from "../ops/families/batching.ts";
import { makeRegion, opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

interface Batched {
  readonly value: Value;
  readonly batched: boolean;
}

const expandForBatching = (graph: Graph): Graph =>
  expandOps(graph, "expand for batching", (op) => (op.batching.kind === "decompose" ? op.batching.via : undefined));

/** `inputs` are the names of the inputs (or states) that differ from item to item. */
export function batchGraph(graph: Graph, inputs: readonly string[], size: Dim): Graph {
  const source = expandForBatching(graph);
  const builder = new GraphBuilder(opTable, `${graph.name} batched`);
  const g = typedBuilder(builder);
  const map = batchNodes(source, g, size, (node) => {
    const name = node.attrs["name"];
    const [type] = node.outputs;
    if ((node.op === "input" || node.op === "state") && typeof name === "string" && type && inputs.includes(name)) {
      const wide = { dtype: type.dtype, shape: [size, ...type.shape] };
      const value =
        node.op === "input" ? builder.input(name, wide) : builder.state(name, wide, { rewind: rewindOf(node) });
      return { value, batched: true };
    }
    const [value] = isLeaf(node) ? builder.adopt(node, [], source.constants) : [];
    return value && { value, batched: false };
  });
  const wide = (old: Value): Value => {
    const { value, batched } = map(old);
    return asBatched(g, value, batched, size);
  };
  for (const output of source.outputs) builder.output(output.name, wide(output.value));
  for (const state of source.states)
    builder.setState(state.name, inputs.includes(state.name) ? wide(state.output) : map(state.output).value);
  return builder.finish();
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
    });
    return asList(result);
  }
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[vmap] ${node.op} cannot be batched: ${batching?.kind === "unsupported" ? batching.reason : "no rule"}`,
  );
}
