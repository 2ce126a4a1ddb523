/**
 * A text that is open like a model: what was read of it, the graph where nothing is wrong with it, and that graph with
 * the values of its parameters inside, as a Core ML package holds them.
 */
import type { TextFile } from "../../contract/views/text.ts";
import { counted } from "../words.ts";
import type { Graph } from "../../ir/graph.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { rewrite } from "../../ir/rewrite.ts";
import { finish } from "../../ir/steps.ts";
import { readGraph } from "../../ir/text/build.ts";
import type { Diagnostic } from "../../ir/text/diagnostics.ts";
import { textError } from "../../ir/text/diagnostics.ts";
import { opTable } from "../../ops/index.ts";
import { paramsOf } from "./values.ts";

/** Files of texts end so. */
export const TEXT_ENDING = ".rlx";
export const isTextName = (name: string): boolean => name.toLowerCase().endsWith(TEXT_ENDING);

export interface TextSubject {
  /** Of the file: "cnn.rlx". */
  readonly name: string;
  /** Where it was read, and what was there; the text may have been edited since. */
  readonly file: TextFile | null;
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Undefined where something is wrong. */
  readonly graph: Graph | undefined;
}

export function textSubject(name: string, file: TextFile | null, text: string): TextSubject {
  const { graph, diagnostics } = readGraph(opTable, text);
  return { name, file, text, diagnostics, graph };
}

/** The graph, or an error with the first fault. */
export function graphOfText({ name, graph, diagnostics }: TextSubject): Graph {
  if (graph === undefined) throw textError(name, diagnostics);
  return graph;
}

export const faultsSentence = ({ diagnostics: [first, ...others] }: TextSubject): string =>
  first === undefined
    ? "There is no graph in this text."
    : `Line ${first.line}: ${first.message}${others.length === 0 ? "" : ` (and ${counted(others.length, "more fault")})`}`;

/** Seed of parameters that have no initial value, where nothing asks for another. */
const SEED = 1;

/** The graph with its parameters as constants. Parameters of files stay. */
export const withValues = (
  graph: Graph,
  values: Readonly<Record<string, HostTensor>> = paramsOf(graph, SEED),
): Graph => {
  if (!graph.nodes.some(isMemoryParam)) return graph;
  const rewritten = rewrite(opTable, graph, "values in the program", (node, _map, replace) => {
    const value = isMemoryParam(node) ? values[String(node.attrs["name"])] : undefined;
    return value === undefined ? undefined : [replace().constant(value)];
  });
  return finish(rewritten).graph;
};

/** One run of it from the start: states are what they are at first, and what they become is not asked for. */
export function withoutStates(graph: Graph, values: Readonly<Record<string, HostTensor>>): Graph {
  if (graph.states.length === 0) return graph;
  const alone = { ...graph, states: [] };
  const rewritten = rewrite(opTable, alone, "states at first", (node, _map, replace) => {
    const value = node.op === "state" ? values[String(node.attrs["name"])] : undefined;
    return value === undefined ? undefined : [replace().constant(value)];
  });
  return finish(rewritten).graph;
}
