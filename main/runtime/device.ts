/**
 * Where graphs run. A device compiles a graph, and a compiled graph opens sessions (main/ir/session.ts). What sessions of all
 * devices share stands here too: the inputs of a graph, and the sizes that follow from them.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import type { Bindings } from "../ir/dim.ts";
import { dimSymbols } from "../ir/dim.ts";
import { dtypeBytes, isPacked } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import type { Rewind, Ring } from "../ir/rewind.ts";
import type { Disposable, GraphSession, TokenRun } from "../ir/session.ts";
import type { TensorType } from "../ir/type.ts";

export interface OpenOptions {
  readonly threads?: number;
  /** Sizes of the symbols that states have: fixed for the session. */
  readonly symbols?: Bindings;
}

/** One step of a plan, for profiles: what runs, for which graph nodes, and what people call it. */
export interface PlanStep {
  readonly kernel: string;
  readonly nodes: readonly number[];
  /** The ops of the nodes: "rms_norm + linear". */
  readonly op: string;
  /** Where in the model they stand: "blk.3/attention". */
  readonly label: string;
  /** Operations of the model that they stand for: what other graphs of the same model know them by. */
  readonly sources: readonly number[];
}

/** An input of a graph: all that a run needs to know of the graph that a plan was made from. */
export interface GraphInput {
  readonly name: string;
  readonly type: TensorType;
}

export interface CompiledGraph extends Disposable {
  readonly device: string;
  readonly steps: readonly PlanStep[];
  /** Bytes of weights that a step reads at least. */
  readonly weightBytes: number;
  /** Largest temporaries, shared. */
  readonly arenaBytes: number;
  /** How its sessions can be taken back to fewer tokens. */
  readonly rewind: Rewind;
  /** What its rings can do, where it has some. */
  readonly ring?: Ring | undefined;
  open(options?: OpenOptions): GraphSession;
}

export interface Device {
  /** As the registry knows it (devices/provider.ts). */
  readonly id: string;
  /** For people: "CPU engine, avx2" or "TypeScript reference (slow)". */
  readonly title: string;
  compile(graph: Graph): CompiledGraph;
}

export const inputsOf = (graph: Graph): readonly GraphInput[] =>
  graph.inputs.map((id) => {
    const node = graph.nodes[id];
    const [type] = node?.outputs ?? [];
    invariant(node && type, `input ${id} has a type`);
    return { name: String(node.attrs["name"]), type };
  });

/** Sizes of symbols from the lengths of a run's inputs, where an input leaves exactly one open. */
type SymbolReader = (run: TokenRun) => Bindings;

/** Reads the shapes once, because a run may be a single token. */
export function symbolReader(inputs: readonly GraphInput[]): SymbolReader {
  const open = inputs.flatMap(openInput);
  return (run) => {
    const found: Record<string, number> = { ...run.symbols };
    for (const input of open) {
      const bytes = input.name === run.follow ? input.elementBytes : run.inputs[input.name]?.byteLength;
      if (bytes !== undefined) readSymbol(input, bytes, found);
    }
    return found;
  };
}

export const symbolsOf = (inputs: readonly GraphInput[], run: TokenRun): Bindings => symbolReader(inputs)(run);

interface OpenInput {
  readonly name: string;
  readonly type: TensorType;
  readonly elementBytes: number;
  /** Product of the sizes that are numbers. */
  readonly fixed: number;
  readonly dims: readonly { readonly text: string; readonly alone: boolean }[];
}

function openInput({ name, type }: GraphInput): readonly OpenInput[] {
  const dims = type.shape.filter((dim) => typeof dim === "string");
  if (dims.length === 0 || isPacked(type.dtype)) return [];
  const fixed = type.shape.reduce<number>((n, dim) => (typeof dim === "number" ? n * dim : n), 1);
  const named = dims.map((text) => ({ text, alone: dimSymbols(text)[0] === text }));
  return [{ name, type, elementBytes: dtypeBytes(type.dtype), fixed, dims: named }];
}

function readSymbol(
  { name, type, elementBytes, fixed, dims }: OpenInput,
  bytes: number,
  found: Record<string, number>,
): void {
  const [symbol, ...others] = dims.filter(({ text }) => found[text] === undefined);
  if (symbol?.alone !== true || others.length > 0) return;
  const known = dims.reduce((n, { text }) => n * (found[text] ?? 1), fixed);
  const count = bytes / elementBytes;
  if (known === 0 || count % known !== 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[run] input ${name}: ${count} elements do not fill [${type.shape.join(",")}]`,
    );
  found[symbol.text] = count / known;
}
