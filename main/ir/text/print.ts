/**
 * A graph as text, which `readGraph` reads back to the same graph: one line a node,
 * `%3 = add(%1, %2) : f32[T,64] @ "blk.0" "residual" 7`. What is left out follows from the rest: the provenance of a node that
 * its own graph was first to have. The grammar: docs/ir-text.md.
 */
import type { AttrRecord } from "../attributes.ts";
import type { Graph, LeafOp, Node, Value } from "../graph.ts";
import { isLeaf } from "../graph.ts";
import type { HostTensor } from "../hostTensor.ts";
import { formatType } from "../type.ts";
import { attributesText, numberText, numbersText, provenanceText } from "./spelling.ts";

export interface PrintOptions {
  /** Constants of more numbers are named by their hash. */
  readonly inlineUpTo?: number;
}

/** For people: rows of more numbers say nothing. */
const FEW_NUMBERS = 16;

export interface PrintedLine {
  readonly text: string;
  /** The node it belongs to; undefined for the lines around them. */
  readonly node?: number;
}

export const printGraph = (graph: Graph, options: PrintOptions = {}): string =>
  graphLines(graph, options)
    .map(({ text }) => text)
    .join("\n");

/** A text that holds everything: it is read back without any other file. */
export const printWhole = (graph: Graph): string => `${printGraph(graph, { inlineUpTo: Infinity })}\n`;

export function graphLines(graph: Graph, options: PrintOptions = {}): readonly PrintedLine[] {
  const lines: PrintedLine[] = [];
  pushBlock(lines, { options, indent: "" }, graph);
  return lines;
}

/** The line of a node, and those of its sub-graphs below it. */
export function nodeLines(graph: Graph, node: Node, options: PrintOptions = {}): readonly string[] {
  const lines: PrintedLine[] = [];
  pushNode(lines, { options, indent: "" }, graph, node);
  return lines.map(({ text }) => text);
}

/** The line of a node by itself. */
export function printNode(graph: Graph, node: Node, options: PrintOptions = {}): string {
  const types = node.outputs.map(formatType).join(", ");
  return `%${node.id} = ${callText(graph, node, options)} : ${types}${ownProvenance(node)}`;
}

interface Place {
  readonly options: PrintOptions;
  readonly indent: string;
}

function pushBlock(lines: PrintedLine[], place: Place, graph: Graph, owner?: number): void {
  const { indent } = place;
  const around = (text: string): void => {
    lines.push({ text: indent + text, ...(owner !== undefined && { node: owner }) });
  };
  around(`graph ${JSON.stringify(graph.name)} {`);
  for (const [symbol, size] of Object.entries(graph.symbolLimits)) around(`  limit ${symbol} = ${size}`);
  const inner = { ...place, indent: `${indent}  ` };
  for (const node of graph.nodes) pushNode(lines, inner, graph, node, owner);
  if (!isInOrder(graph.inputs)) around(`  inputs ${graph.inputs.map((id) => `%${id}`).join(", ")}`);
  for (const { name, output } of graph.states) around(`  next ${JSON.stringify(name)} = ${valueText(graph, output)}`);
  for (const { name, value } of graph.outputs) around(`  return ${JSON.stringify(name)} = ${valueText(graph, value)}`);
  around("}");
}

function pushNode(lines: PrintedLine[], place: Place, graph: Graph, node: Node, owner: number = node.id): void {
  lines.push({ text: place.indent + printNode(graph, node, place.options), node: owner });
  for (const region of node.regions) pushBlock(lines, { ...place, indent: `${place.indent}  ` }, region, owner);
}

const isInOrder = (ids: readonly number[]): boolean => ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? 0));

const valueText = (graph: Graph, value: Value): string =>
  (graph.nodes[value.node]?.outputs.length ?? 1) > 1 ? `%${value.node}.${value.output}` : `%${value.node}`;

function callText(graph: Graph, node: Node, { inlineUpTo = FEW_NUMBERS }: PrintOptions): string {
  const { op, attrs, inputs } = node;
  if (!isLeaf(node)) return `${op}(${inputs.map((input) => valueText(graph, input)).join(", ")})${attrsText(attrs)}`;
  if (op !== "constant") {
    const { name, ...rest } = attrs;
    return `${op} ${JSON.stringify(name)}${attrsText(rest)}`;
  }
  const hash = String(attrs["data"]);
  const tensor = graph.constants.get(hash);
  if (tensor === undefined) return `${op} #${hash}`;
  return `${op} ${dataText(tensor, inlineUpTo) ?? `#${hash}`}`;
}

const attrsText = (attrs: AttrRecord): string =>
  attributesText(Object.entries(attrs).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])));

/** Undefined where it is too long. */
function dataText({ dtype, shape, data }: HostTensor, most: number): string | undefined {
  const [first] = data;
  if (first !== undefined && data.length > 1 && dtype !== "c64" && data.every((value) => Object.is(value, first)))
    return `all ${numberText(first)}`;
  if (data.length > most) return undefined;
  return numbersText(data, dtype === "c64" ? [...shape, 2] : shape);
}

const ownLabel = ({ op, attrs }: Node): unknown => (LABELLED.has(op) ? attrs["name"] : op);
/** Leaves that the builder labels by their name. */
const LABELLED: ReadonlySet<string> = new Set(["param", "state"] satisfies readonly LeafOp[]);

function ownProvenance(node: Node): string {
  const { origins, passes, id } = node;
  const [only] = origins;
  const isOwn =
    origins.length === 1 &&
    only?.scope === "" &&
    only.source === id &&
    only.label === ownLabel(node) &&
    passes.length === 0;
  return isOwn ? "" : provenanceText(origins, passes);
}
