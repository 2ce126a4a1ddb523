/**
 * An importance matrix from a text: the model's own graph, with one more output for each weight of a block (the squares of the
 * rows that it multiplies, added up), is run over the text in chunks. Which op a family uses where makes no difference to this.
 */
import { invariant, throwIfCancelled, WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Bindings, Dim } from "../ir/dim.ts";
import { bindDim, mulDims, productOf } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import type { GatheredInputs } from "../ir/inputSquares.ts";
import type { FetchedTensor, GraphSession } from "../ir/session.ts";
import { copyNode, prune } from "../ir/rewrite.ts";
import { finish } from "../ir/steps.ts";
import { INPUTS, ROWS, TOKENS } from "../models/blocks.ts";
import { requireReadingDecoder } from "../models/architecture.ts";
import { template } from "../models/template.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { CompiledGraph } from "./device.ts";

/** A weight's matrix product, and the outputs that tell of its operand. */
interface Watched {
  readonly tensor: string;
  readonly columns: number;
  readonly matrices: number;
  readonly sums: string;
  /** Which matrix each row met; without it all rows met the only one. */
  readonly ids?: string;
  readonly rows: Dim;
}

interface WatchedGraph {
  readonly graph: Graph;
  readonly watched: readonly Watched[];
}

export interface GatherOptions {
  readonly compile: (graph: Graph) => CompiledGraph;
  /** Tokens of a chunk: each starts with empty caches. */
  readonly chunk: number;
  /** Put in the place of each chunk's first token. */
  readonly bos?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (chunks: number, of: number) => void;
}

export interface Gathered {
  readonly inputs: GatheredInputs;
  readonly chunks: number;
  readonly chunk: number;
}

/** A rest that fills no chunk is left out; a text of less than one is a chunk of its own. */
export async function gatherInputs(file: GgufFile, tokens: Int32Array, options: GatherOptions): Promise<Gathered> {
  requireReadingDecoder(file);
  const chunk = Math.min(options.chunk, tokens.length);
  if (chunk < 1) throw new WorkbenchError("INPUT_ARGUMENT", "[imatrix] the text: got no tokens, expected at least 1");
  const sizes = { largestStep: chunk, largestRows: chunk, largestCapacity: chunk };
  const { graph, watched } = watchInputs(finish(template(file, { cacheType: "f32", ...sizes })));
  const program = options.compile(graph);
  const gathered = new Map<string, { columns: number; sums: Float64Array; counts: Float64Array }>();
  try {
    const session = program.open({ symbols: { capacity: chunk } });
    try {
      const of = Math.floor(tokens.length / chunk);
      for (let at = 0; at < of; at++) {
        options.onProgress?.(at, of);
        throwIfCancelled(options.signal);
        const part = tokens.slice(at * chunk, (at + 1) * chunk);
        if (options.bos !== undefined) part[0] = options.bos;
        const outputs = await runChunk(session, part, watched, options.signal);
        for (const each of watched) add(gathered, each, outputs, { [TOKENS]: chunk, [ROWS]: chunk });
      }
      options.onProgress?.(of, of);
      return { inputs: gathered, chunks: of, chunk };
    } finally {
      session.dispose();
    }
  } finally {
    program.dispose();
  }
}

async function runChunk(
  session: GraphSession,
  tokens: Int32Array,
  watched: readonly Watched[],
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, FetchedTensor>>> {
  await session.reset();
  const inputs = {
    [INPUTS.tokens]: tokens,
    [INPUTS.past]: Int32Array.of(0),
    [INPUTS.rows]: Int32Array.from(tokens.keys()),
  };
  const fetch = watched.flatMap(({ sums, ids }) => (ids === undefined ? [sums] : [sums, ids]));
  return (await session.run({ inputs, fetch }, signal)).outputs;
}

function add(
  gathered: Map<string, { columns: number; sums: Float64Array; counts: Float64Array }>,
  { tensor, columns, matrices, sums, ids, rows }: Watched,
  outputs: Readonly<Record<string, FetchedTensor>>,
  sizes: Bindings,
): void {
  const all = gathered.get(tensor) ?? {
    columns,
    sums: new Float64Array(matrices * columns),
    counts: new Float64Array(matrices),
  };
  gathered.set(tensor, all);
  const bytesOf = (name: string): ArrayBuffer => {
    const output = outputs[name];
    invariant(output, `[imatrix] ${name} was fetched`);
    return output.bytes.slice().buffer;
  };
  new Float32Array(bytesOf(sums)).forEach((sum, i) => (all.sums[i] = (all.sums[i] ?? 0) + sum));
  if (ids === undefined) all.counts[0] = (all.counts[0] ?? 0) + Number(bindDim(rows, sizes));
  else for (const id of new Int32Array(bytesOf(ids))) all.counts[id] = (all.counts[id] ?? 0) + 1;
}

/** The states of the graph as they were, and no output but those that tell of the weights of blocks. */
export function watchInputs(source: Graph): WatchedGraph {
  const builder = new GraphBuilder(opTable, source.name);
  const g = typedBuilder(builder);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    invariant(value, "a value is made before it is read");
    return value;
  };
  const watched: Watched[] = [];
  const output = (value: Value): string => {
    const name = `watched.${watched.length}.${value.node}`;
    builder.output(name, value);
    return name;
  };
  for (const node of source.nodes) {
    values.push(copyNode(builder, source, node, map));
    const weight = weightOf(source, node);
    if (weight !== undefined) watched.push(watch(g, output, weight, node.op, node.inputs.map(map)));
  }
  for (const [symbol, size] of Object.entries(source.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const state of source.states) builder.setState(state.name, map(state.output));
  return { graph: prune(builder.finish()).graph, watched };
}

/** The weight of a block that this node multiplies by, in the file. */
function weightOf(graph: Graph, { op, inputs }: Node): string | undefined {
  if (op !== "linear" && op !== "linear_grouped") return undefined;
  const [, value] = inputs;
  let node = value === undefined ? undefined : graph.nodes[value.node];
  // A vector of the file may be a matrix of one row here.
  if (node?.op === "reshape") node = graph.nodes[node.inputs[0]?.node ?? -1];
  const tensor = node?.op === "param" ? node.attrs["tensor"] : undefined;
  return typeof tensor === "string" && tensor.startsWith("blk.") ? tensor : undefined;
}

function watch(
  g: OpBuilder,
  output: (value: Value) => string,
  tensor: string,
  op: string,
  inputs: readonly Value[],
): Watched {
  const [x, , ids] = inputs;
  invariant(x, `[imatrix] ${op} has an operand`);
  const { dtype, shape } = g.typeOf(x);
  const columns = Number(shape.at(-1));
  const wide = dtype === "f32" ? x : g.cast([x], { to: "f32" });
  const squares = g.mul([wide, wide]);
  const rows = productOf(shape.slice(0, -1));
  if (op === "linear" || ids === undefined) {
    const sums = g.reduce([g.reshape([squares], { shape: [rows, columns] })], { kind: "sum", axes: [0] });
    return { tensor, columns, matrices: 1, rows, sums: output(sums) };
  }
  const [tokens = 1, slots = 1] = g.typeOf(ids).shape;
  const [, weight] = inputs;
  invariant(weight, `[imatrix] ${op} has a weight`);
  const matrices = Number(g.typeOf(weight).shape[0]);
  const each = mulDims(tokens, slots);
  const spread = shape[1] === slots ? squares : g.expand([squares], { shape: [tokens, slots, columns] });
  const updates = g.reshape([spread], { shape: [each, columns] });
  const flat = g.reshape([ids], { shape: [each] });
  const sums = g.scatter_add([updates, flat], { axis: 0, size: matrices });
  return { tensor, columns, matrices, rows: each, sums: output(sums), ids: output(flat) };
}
