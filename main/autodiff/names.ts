/** What a transform is asked for by name: leaves to differentiate by, outputs, and names that are still free. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph, GraphOutput, Node } from "../ir/graph.ts";
import { isLeaf } from "../ir/graph.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType } from "../ir/type.ts";

const listed = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.length > 12 ? `${names.slice(0, 12).join(", ")} …` : names.join(", ");

const nameOf = (node: Node): string => String(node.attrs["name"]);
const namedLeaves = ({ nodes }: Graph): readonly Node[] =>
  nodes.filter((node) => isLeaf(node) && typeof node.attrs["name"] === "string");

export const wrongName = (who: string, what: string, got: string, known: readonly string[]): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[${who}] ${what}: got "${got}", expected one of ${listed(known)}`);

/** Inputs, weights and states to differentiate by: floats only. */
export function leavesOf(who: string, graph: Graph, names: readonly string[]): readonly Node[] {
  const leaves = namedLeaves(graph);
  const byName = new Map(leaves.map((node) => [nameOf(node), node]));
  return names.map((name, i) => {
    const leaf = byName.get(name);
    if (leaf === undefined) throw wrongName(who, "wrt", name, leaves.map(nameOf));
    if (names.indexOf(name) !== i) throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] wrt: "${name}" is named twice`);
    checkFloat(who, name, leaf);
    return leaf;
  });
}

function checkFloat(who: string, name: string, { outputs }: Node): void {
  const [type] = outputs;
  if (type === undefined || (isFloat(type.dtype) && !isPacked(type.dtype))) return;
  if (type.dtype === "c64")
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${who}] wrt ${name}: got ${formatType(type)}, expected floats: a complex number moves by its two parts`,
      { hint: "Make the leaf a block of floats, and complex numbers of it by to_complex." },
    );
  throw isPacked(type.dtype)
    ? new WorkbenchError(
        "UNSUPPORTED_OP",
        `[${who}] wrt ${name}: got ${formatType(type)}, expected floats: packed blocks are codes, which have no derivative`,
        { hint: "Train a LoRA adapter over the packed weight, or dequantise it and differentiate the floats." },
      )
    : new WorkbenchError(
        "INPUT_ARGUMENT",
        `[${who}] wrt ${name}: got ${formatType(type)}, expected floats: whole numbers have no derivative`,
      );
}

export function outputOf(who: string, graph: Graph, name: string): GraphOutput {
  const output = graph.outputs.find((own) => own.name === name);
  if (output !== undefined) return output;
  throw wrongName(
    who,
    "of",
    name,
    graph.outputs.map((own) => own.name),
  );
}

export function outputType(who: string, graph: Graph, name: string): TensorType {
  const { value } = outputOf(who, graph, name);
  const type = graph.nodes[value.node]?.outputs[value.output];
  if (type === undefined) throw wrongName(who, "of", name, []);
  return type;
}

/** Outputs, or inputs, that a transform adds must not be there: a second derivative next to the first has another prefix. */
export function checkNew(
  who: string,
  graph: Graph,
  names: readonly string[],
  what: "input" | "output" = "output",
): void {
  const taken = new Set(what === "output" ? graph.outputs.map(({ name }) => name) : namedLeaves(graph).map(nameOf));
  const twice = names.find((name) => taken.has(name));
  if (twice !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] the graph has an ${what} "${twice}" already`, {
      hint: "Give another prefix.",
    });
}
