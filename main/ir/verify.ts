/** The executable specification of a well-formed graph. Returns every finding, never throws on the first. */
import { toWireError } from "../diagnostics/errors.ts";
import { checkAttrs } from "./attributes.ts";
import type { Graph, Node, Value } from "./graph.ts";
import { isLeaf } from "./graph.ts";
import type { OpTable } from "./opTable.ts";
import { DEEPEST_NEST, regionFaults, regionPlace } from "./regions.ts";
import { formatType, sameType } from "./type.ts";

export interface Finding {
  readonly code: "IR_STRUCTURE" | "IR_TYPE" | "IR_SHAPE" | "IR_ATTRIBUTE";
  /** In the sub-graph that `path` leads to, or in the graph itself. */
  readonly node?: number;
  /** Sub-graphs on the way to the fault, outermost first: `["%7 then"]`. The message begins with it. */
  readonly path?: readonly string[];
  readonly message: string;
}

export const verify = (table: OpTable, graph: Graph): readonly Finding[] => verifyNested(table, graph, 0);

function verifyNested(table: OpTable, graph: Graph, depth: number): readonly Finding[] {
  const findings: Finding[] = [];
  graph.nodes.forEach((node, index) => {
    if (node.id !== index)
      findings.push({ code: "IR_STRUCTURE", node: index, message: `node at ${index} says its id is ${node.id}` });
    findings.push(...operandFindings(graph, node, index));
    findings.push(...regionFindings(table, node, depth));
    if (!isLeaf(node)) findings.push(...opFindings(table, graph, node));
    else if (node.inputs.length > 0 || node.outputs.length !== 1)
      findings.push({ code: "IR_STRUCTURE", node: node.id, message: `${node.op} must have no inputs and one output` });
    if (node.op === "constant" && !graph.constants.has(String(node.attrs["data"])))
      findings.push({ code: "IR_STRUCTURE", node: node.id, message: `constant ${node.id} has no data in the graph` });
  });
  findings.push(...inputFindings(graph));
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
function regionFindings(table: OpTable, node: Node, depth: number): readonly Finding[] {
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
    return [...faults, ...verifyNested(table, region, depth + 1)].map((finding) => ({
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

function opFindings(table: OpTable, graph: Graph, node: Node): readonly Finding[] {
  const spec = table.get(node.op);
  if (!spec) return [{ code: "IR_STRUCTURE", node: node.id, message: `[${node.op}] no such op` }];
  const { min, max } = spec.arityRange;
  if (node.inputs.length < min || node.inputs.length > max)
    return [
      {
        code: "IR_STRUCTURE",
        node: node.id,
        message: `[${node.op}] inputs: got ${node.inputs.length}, expected ${min}..${max}`,
      },
    ];
  const types = node.inputs.map((v) => graph.nodes[v.node]?.outputs[v.output]);
  if (types.some((type) => type === undefined)) return [];
  // A broken sub-graph has findings of its own and no types to infer from.
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

/** The signature names every input node, each once: operands of a sub-graph are handed in by it. */
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
