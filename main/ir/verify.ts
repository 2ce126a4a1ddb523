/** The executable specification of a well-formed graph. Returns every finding, never throws on the first. */
import { invariant, toWireError } from "../diagnostics/errors.ts";
import { checkAttrs } from "./attributes.ts";
import { canonicalDim } from "./dim.ts";
import { isPacked } from "./dtype.ts";
import type { Graph, Node, Value } from "./graph.ts";
import { isLeaf, isMemoryParam } from "./graph.ts";
import { initialOf } from "./initial.ts";
import type { OpTable } from "./opTable.ts";
import { DEEPEST_NEST, regionFaults, regionPlace } from "./regions.ts";
import { REWINDS, isRewind } from "./rewind.ts";
import type { TensorType } from "./type.ts";
import { byteLength, formatType, sameType } from "./type.ts";

export interface Finding {
  readonly code: "IR_STRUCTURE" | "IR_TYPE" | "IR_SHAPE" | "IR_ATTRIBUTE";
  /** In the sub-graph that `path` leads to, or in the graph itself. */
  readonly node?: number;
  /** Sub-graphs on the way to the fault, outermost first: `["%7 then"]`. The message begins with it. */
  readonly path?: readonly string[];
  readonly message: string;
}

/** For callers that cannot continue with a broken graph: throws the first finding. `done` names the step before it. */
export function requireVerified(table: OpTable, graph: Graph, done: string): void {
  const [finding] = verify(table, graph);
  invariant(finding === undefined, `${done}: ${finding?.message ?? ""}`);
}

export const verify = (table: OpTable, graph: Graph): readonly Finding[] => verifyNested(table, graph, 0, "every node");

/** Of a graph whose other nodes a builder has typed and checked, and whose leaves come from somewhere else. */
export const verifyLeaves = (table: OpTable, graph: Graph): readonly Finding[] =>
  verifyNested(table, graph, 0, "leaves");

function verifyNested(table: OpTable, graph: Graph, depth: number, which: "every node" | "leaves"): readonly Finding[] {
  const findings: Finding[] = [];
  graph.nodes.forEach((node, index) => {
    if (which === "leaves" && !isLeaf(node) && node.regions.length === 0) return;
    if (node.id !== index)
      findings.push({ code: "IR_STRUCTURE", node: index, message: `node at ${index} says its id is ${node.id}` });
    findings.push(...operandFindings(graph, node, index));
    findings.push(...regionFindings(table, node, depth, which));
    findings.push(...typeFindings(node));
    findings.push(...(isLeaf(node) ? leafFindings(graph, node) : opFindings(table, graph, node)));
  });
  findings.push(...inputFindings(graph), ...ownerFindings(graph), ...limitFindings(graph));
  for (const output of graph.outputs) findings.push(...rootFindings(graph, `output ${output.name}`, output.value));
  for (const state of graph.states) findings.push(...stateFindings(graph, state.name, state.input, state.output));
  for (const [kind, names] of [
    ["output", graph.outputs.map((o) => o.name)],
    ["state", graph.states.map((s) => s.name)],
  ] as const)
    if (new Set(names).size !== names.length)
      findings.push({ code: "IR_STRUCTURE", message: `two ${kind}s share a name` });
  return findings;
}

/** What is wrong inside the sub-graphs of a node, each finding with the way to it. */
function regionFindings(table: OpTable, node: Node, depth: number, which: "every node" | "leaves"): readonly Finding[] {
  const names = isLeaf(node) ? [] : table.get(node.op)?.regionNames;
  if (names !== undefined && node.regions.length !== names.length)
    return [
      {
        code: "IR_STRUCTURE",
        node: node.id,
        message: `[${node.op}] sub-graphs: got ${node.regions.length}, expected ${names.join(", ") || "none"}`,
      },
    ];
  if (depth >= DEEPEST_NEST)
    return node.regions.length === 0
      ? []
      : [{ code: "IR_STRUCTURE", node: node.id, message: `sub-graphs are nested deeper than ${DEEPEST_NEST}` }];
  return node.regions.flatMap((region, i) => {
    const place = regionPlace(table, node, i);
    const faults = regionFaults(region).map((message): Finding => ({ code: "IR_STRUCTURE", message }));
    return [...faults, ...verifyNested(table, region, depth + 1, which)].map((finding) => ({
      ...finding,
      path: [place, ...(finding.path ?? [])],
      message: `${place}: ${finding.message}`,
    }));
  });
}

function exists(graph: Graph, value: Value): boolean {
  return graph.nodes[value.node]?.outputs[value.output] !== undefined;
}

function operandFindings(graph: Graph, node: Node, index: number): readonly Finding[] {
  return node.inputs.flatMap((input, i): readonly Finding[] => {
    if (input.node >= index)
      return [
        { code: "IR_STRUCTURE", node: index, message: `${node.op} reads node ${input.node}, which is not before it` },
      ];
    return exists(graph, input)
      ? []
      : [{ code: "IR_STRUCTURE", node: index, message: `input ${i} of ${node.op} does not exist` }];
  });
}

/** Checks a type by itself. */
function typeFindings(node: Node): readonly Finding[] {
  return node.outputs.flatMap((type): readonly Finding[] => {
    const fault = typeFault(type);
    return fault === undefined
      ? []
      : [{ code: "IR_SHAPE", node: node.id, message: `${node.op} of type ${formatType(type)}: ${fault}` }];
  });
}

function typeFault(type: TensorType): string | undefined {
  try {
    // Dims are compared by their text, so another spelling would be another size.
    for (const dim of type.shape)
      if (canonicalDim(dim) !== dim) return `the size ${dim} has to be written ${canonicalDim(dim)}`;
    if (isPacked(type.dtype)) byteLength(type);
    return undefined;
  } catch (error) {
    return toWireError(error).message;
  }
}

const isPlainStatic = ({ dtype, shape }: TensorType): boolean =>
  !isPacked(dtype) && shape.every((dim) => typeof dim === "number");

const isName = (value: unknown): boolean => typeof value === "string" && value !== "";

function leafFindings(graph: Graph, node: Node): readonly Finding[] {
  const found = (code: Finding["code"], message: string): readonly Finding[] => [{ code, node: node.id, message }];
  const [type] = node.outputs;
  if (node.inputs.length > 0 || node.outputs.length !== 1 || type === undefined)
    return found("IR_STRUCTURE", `${node.op} must have no inputs and one output`);
  const { name, data, file, tensor } = node.attrs;
  if (node.op === "state" && !isRewind(node.attrs["rewind"]))
    return found(
      "IR_ATTRIBUTE",
      `state ${node.id}: got rewind ${String(node.attrs["rewind"])}, expected ${REWINDS.join(", ")}`,
    );
  const { rewind, spare } = node.attrs;
  const isSpare = typeof spare === "number" && Number.isSafeInteger(spare) && spare >= 0;
  if (node.op === "state" && (rewind === "ring" ? !isSpare : spare !== undefined))
    return found(
      "IR_ATTRIBUTE",
      `state ${node.id}: got spare ${String(spare)}, expected ${rewind === "ring" ? "a whole number from 0" : "none: it is no ring"}`,
    );
  if (node.op === "input" && !isName(name)) return found("IR_ATTRIBUTE", `input ${node.id} has no name`);
  // The parts of one op, looked at by themselves, have weights of no file; their file is the empty text.
  if (node.attrs["initial"] !== undefined && (initialOf(node.attrs) === undefined || !isPlainStatic(type)))
    return found(
      "IR_ATTRIBUTE",
      `${node.op} ${node.id}: its initial value is not whole, or its type has no fixed size`,
    );
  if (isMemoryParam(node))
    return isName(name) && isPlainStatic(type)
      ? []
      : found("IR_ATTRIBUTE", `param ${node.id} is held in memory: it needs a name and a plain type of fixed size`);
  if (node.op === "param" && !(typeof file === "string" && isName(tensor)))
    return found("IR_ATTRIBUTE", `param ${node.id} does not say which tensor of which file it is`);
  if (node.op !== "constant") return [];
  const value = graph.constants.get(String(data));
  if (!value) return found("IR_STRUCTURE", `constant ${node.id} has no data in the graph`);
  return sameType(value, type)
    ? []
    : found("IR_TYPE", `constant ${node.id} is ${formatType(type)}, its data is ${formatType(value)}`);
}

/** Each `state` leaf is read for one state. */
function ownerFindings(graph: Graph): readonly Finding[] {
  const owners = new Map<number, readonly string[]>();
  for (const { name, input } of graph.states) owners.set(input, [...(owners.get(input) ?? []), name]);
  return graph.nodes.flatMap(({ op, id }): readonly Finding[] => {
    const names = op === "state" ? (owners.get(id) ?? []) : undefined;
    if (names === undefined || names.length === 1) return [];
    const message = names.length === 0 ? `no state owns leaf ${id}` : `leaf ${id} is read for ${names.join(" and ")}`;
    return [{ code: "IR_STRUCTURE", node: id, message }];
  });
}

function limitFindings(graph: Graph): readonly Finding[] {
  return Object.entries(graph.symbolLimits)
    .filter(([, size]) => !Number.isSafeInteger(size) || size < 0)
    .map(([symbol, size]) => ({ code: "IR_SHAPE", message: `the limit of ${symbol} is ${size}` }));
}

function opFindings(table: OpTable, graph: Graph, node: Node): readonly Finding[] {
  const spec = table.get(node.op);
  if (!spec) return [{ code: "IR_STRUCTURE", node: node.id, message: `[${node.op}] no such op` }];
  const { least, most } = spec.arity;
  if (node.inputs.length < least || node.inputs.length > most)
    return [
      {
        code: "IR_STRUCTURE",
        node: node.id,
        message: `[${node.op}] inputs: got ${node.inputs.length}, expected ${least}..${most}`,
      },
    ];
  const types = node.inputs.map((v) => graph.nodes[v.node]?.outputs[v.output]);
  if (types.some((type) => type === undefined)) return [];
  // Broken sub-graphs have findings of their own and no types to infer from.
  if (node.regions.length !== spec.regionNames.length) return [];
  if (node.regions.some((region) => region.outputs.some(({ value }) => !exists(region, value)))) return [];
  try {
    const attrs = checkAttrs(node.op, spec.schema, node.attrs);
    const inferred = spec.inferTypes(
      types.filter((type) => type !== undefined),
      attrs,
      node.regions,
    );
    if (inferred.length === node.outputs.length && inferred.every((type, i) => same(type, node.outputs[i]))) return [];
    const got = node.outputs.map(formatType).join(", ");
    return [
      {
        code: "IR_TYPE",
        node: node.id,
        message: `[${node.op}] stored type ${got}, inferred ${inferred.map(formatType).join(", ")}`,
      },
    ];
  } catch (error) {
    const { code, message } = toWireError(error);
    return [
      {
        code: code === "IR_ATTRIBUTE" || code === "IR_SHAPE" || code === "IR_TYPE" ? code : "IR_STRUCTURE",
        node: node.id,
        message,
      },
    ];
  }
}

const same = (a: Node["outputs"][number], b: Node["outputs"][number] | undefined): boolean =>
  b !== undefined && sameType(a, b);

function rootFindings(graph: Graph, what: string, value: Value): readonly Finding[] {
  return exists(graph, value) ? [] : [{ code: "IR_STRUCTURE", message: `${what} names a value that does not exist` }];
}

/** The signature names every input node once; a sub-graph gets its operands through it. */
function inputFindings(graph: Graph): readonly Finding[] {
  const named = new Set<number>(graph.inputs);
  const missing = graph.nodes.filter(({ op, id }) => op === "input" && !named.has(id));
  const wrong = graph.inputs.filter((id) => graph.nodes[id]?.op !== "input");
  return [
    ...missing.map(({ id }): Finding => ({
      code: "IR_STRUCTURE",
      node: id,
      message: `input ${id} is not in the signature`,
    })),
    ...wrong.map((id): Finding => ({
      code: "IR_STRUCTURE",
      message: `the signature names node ${id}, which is no input`,
    })),
    ...(named.size === graph.inputs.length
      ? []
      : [{ code: "IR_STRUCTURE", message: "the signature names an input twice" } as const]),
  ];
}

function stateFindings(graph: Graph, name: string, input: number, output: Value): readonly Finding[] {
  const leaf = graph.nodes[input];
  if (leaf?.op !== "state") return [{ code: "IR_STRUCTURE", message: `state ${name} has no state leaf` }];
  if (!exists(graph, output)) return rootFindings(graph, `state ${name}`, output);
  const [before] = leaf.outputs;
  const after = graph.nodes[output.node]?.outputs[output.output];
  if (before && after && sameType(before, after)) return [];
  return [
    {
      code: "IR_TYPE",
      node: input,
      message: `state ${name} changes type from ${before ? formatType(before) : "?"} to ${after ? formatType(after) : "?"}`,
    },
  ];
}
