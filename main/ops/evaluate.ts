/**
 * The `reference` backend: runs a graph on the references of its ops, in float64. It is the oracle
 * for every other backend, and the fallback where no compiler is.
 */
import { WorkbenchError, invariant, throwIfCancelled } from "../diagnostics/errors.ts";
import type { Bindings, Dim } from "../ir/dim.ts";
import { bindDim, dimSymbols } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, isMemoryParam } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { specialize } from "../ir/specialize.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import { initialOf, initialValues } from "../ir/initial.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType, staticShape } from "../ir/type.ts";
import type { RegionRun } from "./defineOp.ts";
import { opOf, opTable } from "./index.ts";

export interface EvaluationInput {
  readonly inputs: Readonly<Record<string, HostTensor>>;
  /** States by name; those not given start as zeros. */
  readonly states?: Readonly<Record<string, HostTensor>>;
  /** Values of parameters in memory; those not given start with their initial value. */
  readonly params?: Readonly<Record<string, HostTensor>>;
  /** The numbers of a weight; packed ones as what their blocks stand for. */
  readonly param?: (name: string, type: TensorType) => HostTensor;
  /** Sizes of symbols that no given tensor tells. */
  readonly bindings?: Bindings;
  readonly signal?: AbortSignal;
}

export interface Evaluation {
  readonly outputs: Readonly<Record<string, HostTensor>>;
  readonly states: Readonly<Record<string, HostTensor>>;
}

/** Sizes for the symbols of the graph, read off the tensors it is given. */
export function bindingsOf(graph: Graph, given: EvaluationInput): Bindings {
  const bindings: Record<string, number> = { ...given.bindings };
  const pairs = graph.nodes.flatMap((node): readonly (readonly [TensorType, HostTensor])[] => {
    const name = node.attrs["name"];
    const [type] = node.outputs;
    if (typeof name !== "string" || !type) return [];
    const value = node.op === "input" ? given.inputs[name] : node.op === "state" ? given.states?.[name] : undefined;
    return value ? [[type, value]] : [];
  });
  for (const [type, value] of pairs)
    type.shape.forEach((dim, i) => {
      const size = value.shape[i];
      if (typeof dim === "string" && dimSymbols(dim)[0] === dim && size !== undefined) bindings[dim] ??= size;
    });
  for (const [type, value] of pairs) checkShape(type, value, bindings);
  return bindings;
}

function checkShape(type: TensorType, value: HostTensor, bindings: Bindings): void {
  const fits =
    type.shape.length === value.shape.length &&
    type.shape.every((dim: Dim, i) => bindDim(dim, bindings) === value.shape[i]);
  if (!fits)
    throw new WorkbenchError("IR_SHAPE", `[reference] got ${formatType(value)} for ${formatType(type)}`, {
      details: { bindings },
    });
}

/** Pauses before each node: one node of a large model can take long. */
export function* evaluate(graph: Graph, given: EvaluationInput): Steps<Evaluation> {
  const bindings = bindingsOf(graph, given);
  const isBound = Object.keys(bindings).length === 0;
  const bound = isBound ? graph : yield* specialize(opTable, graph, bindings);
  const values: (readonly HostTensor[] | undefined)[] = [];
  const lastUse = lastUses(bound);
  const read = (value: Value): HostTensor => {
    const tensor = values[value.node]?.[value.output];
    invariant(tensor, `[reference] value ${value.node}.${value.output} is gone`);
    return tensor;
  };
  for (const node of bound.nodes) {
    yield;
    throwIfCancelled(given.signal);
    values[node.id] = isLeaf(node)
      ? [leafValue(bound, node, given)]
      : applyNode(node, node.inputs.map(read), given.signal);
    for (const input of node.inputs) if (lastUse[input.node] === node.id) values[input.node] = undefined;
  }
  return {
    outputs: Object.fromEntries(bound.outputs.map((output) => [output.name, read(output.value)])),
    states: Object.fromEntries(bound.states.map((state) => [state.name, read(state.output)])),
  };
}

/** One node on known operands; its types hold no symbols. */
export function applyNode(node: Node, inputs: readonly HostTensor[], signal?: AbortSignal): readonly HostTensor[] {
  const op = opOf(node.op);
  invariant(op, `[reference] no op ${node.op}`);
  const regions = node.regions.map((region) => runOf(region, signal));
  return op.reference(inputs, node.attrs, node.outputs, regions);
}

/** A sub-graph as a function of its inputs, by position. */
function runOf(region: Graph, signal: AbortSignal | undefined): RegionRun {
  const names = region.inputs.map((id) => String(region.nodes[id]?.attrs["name"]));
  return (inputs) => {
    const { outputs } = finish(
      evaluate(region, {
        inputs: Object.fromEntries(names.map((name, i) => [name, inputs[i]])) as Record<string, HostTensor>,
        ...(signal === undefined ? {} : { signal }),
      }),
    );
    return region.outputs.map(({ name }) => {
      const value = outputs[name];
      invariant(value, `[reference] ${region.name} gives no ${name}`);
      return value;
    });
  };
}

function leafValue(graph: Graph, node: Node, given: EvaluationInput): HostTensor {
  const [type] = node.outputs;
  invariant(type, "a leaf has a type");
  const name = String(node.attrs["name"] ?? "");
  switch (node.op) {
    case "constant": {
      const data = graph.constants.get(String(node.attrs["data"]));
      invariant(data, `constant ${node.id} has no data`);
      return data;
    }
    case "param": {
      const held = isMemoryParam(node) ? (given.params?.[name] ?? initialTensor(node, type)) : undefined;
      if (held !== undefined) return held;
      if (!given.param)
        throw new WorkbenchError("INPUT_MISSING_TENSOR", `[reference] no weights were given: "${name}" is needed`);
      return given.param(name, type);
    }
    case "state":
      return given.states?.[name] ?? initialTensor(node, type) ?? zeros(type);
    default: {
      const value = given.inputs[name];
      if (!value)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[reference] input "${name}" is missing: got ${Object.keys(given.inputs).join(", ") || "none"}`,
        );
      return value;
    }
  }
}

function initialTensor(node: Node, type: TensorType): HostTensor | undefined {
  const initial = initialOf(node.attrs);
  if (initial === undefined) return undefined;
  return initialValues(initial, { dtype: type.dtype, shape: staticShape(type, String(node.attrs["name"])) });
}

function zeros(type: TensorType): HostTensor {
  const shape = type.shape.map((dim) => {
    if (typeof dim !== "number")
      throw new WorkbenchError("IR_SHAPE", `[reference] state of unknown size ${formatType(type)}: give its value`);
    return dim;
  });
  const dtype = type.dtype === "f16" ? "f16" : "f32";
  return { dtype, shape, data: new Float64Array(shape.reduce((a, b) => a * b, 1)) };
}

/** For each node the last node that reads it; values of roots are kept. */
function lastUses(graph: Graph): Int32Array {
  const last = new Int32Array(graph.nodes.length).fill(-1);
  for (const node of graph.nodes) for (const input of node.inputs) last[input.node] = node.id;
  for (const output of graph.outputs) last[output.value.node] = -1;
  for (const state of graph.states) last[state.output.node] = -1;
  return last;
}
