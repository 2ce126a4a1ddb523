/**
 * Gradients of a graph by JAX: each op by the expression that its value is checked with, so that JAX differentiates what we did not
 * write. `if` and `while` go with their regions.
 */
import { isFloat } from "../ir/dtype.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { opOf } from "../ops/index.ts";
import type { NumericTensor, OracleInputs, OracleTensor, OracleValue } from "./oracle.ts";
import { ask, numeric, tensor } from "./oracle.ts";

const sent = (x: HostTensor): OracleTensor => tensor(isFloat(x.dtype) ? "f64" : x.dtype, x.shape, x.data);
const places = (values: readonly Value[]): OracleValue => values.map(({ node, output }) => [node, output]);

type Bindings = Readonly<Record<string, number>>;

function stepOf(graph: Graph, node: Node, bindings: Bindings): OracleValue {
  const { op, attrs, inputs, regions } = node;
  const operands = places(inputs);
  if (op === "input") return { kind: "input", name: String(attrs["name"]), operands };
  if (op === "constant") {
    const value = graph.constants.get(String(attrs["data"]));
    if (value === undefined) throw new Error("a constant without data");
    return { kind: "constant", value: sent(value), operands };
  }
  const oracle = opOf(op)?.oracle;
  if (oracle === undefined) throw new Error(`${op} has no expression`);
  const bound = (value: unknown): unknown => (typeof value === "string" ? (bindings[value] ?? value) : value);
  return {
    ...{ kind: "op", op, operands, expression: "numpy" in oracle ? oracle.numpy : oracle.jax },
    attrs: JSON.parse(JSON.stringify({ title: "", ...attrs }), (_, value: unknown) => bound(value)) as OracleValue,
    shape: (node.outputs[0]?.shape ?? []).map(bound) as OracleValue,
    regions: regions.map((region) => programOf(region, bindings)),
  };
}

function programOf(graph: Graph, bindings: Bindings): OracleValue {
  return {
    inputs: graph.inputs.map((id) => String(graph.nodes[id]?.attrs["name"])),
    steps: graph.nodes.map((node) => stepOf(graph, node, bindings)),
    outputs: places(graph.outputs.map(({ value }) => value)),
  };
}

export interface GradientQuestion {
  readonly inputs: Readonly<Record<string, HostTensor>>;
  /** One for each output. */
  readonly cotangents: readonly HostTensor[];
  readonly wrt: readonly string[];
  readonly bindings?: Bindings;
}

/** In float64, by input name. */
export async function jaxGradients(
  graph: Graph,
  { inputs, cotangents, wrt, bindings = {} }: GradientQuestion,
): Promise<Readonly<Record<string, NumericTensor>>> {
  const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, sent(value)]));
  const question: OracleInputs = {
    program: programOf(graph, bindings),
    ...{ inputs: given, cotangents: cotangents.map(sent), wrt: [...wrt] },
  };
  const answer = (await ask("jax.gradients", question)) as Readonly<Record<string, OracleTensor>>;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, numeric(value)]));
}
