/**
 * The forward graph as training sees it: every weight an input, those that are trained apart from the others, and its gradient as
 * an ordinary graph over the same inputs and the scale of the loss.
 */
import { applyPrecision } from "../compiler/precision.ts";
import type { Trade } from "../compiler/recompute.ts";
import { checkpoint } from "../compiler/recompute.ts";
import { cotangentName, gradientGraph, gradientName } from "../autodiff/vjp.ts";
import { tangentGraph } from "../autodiff/jvp.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { copyNode, prune } from "../ir/rewrite.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType, staticShape } from "../ir/type.ts";
import { opTable } from "../ops/index.ts";

export interface Trained {
  readonly name: string;
  readonly shape: readonly number[];
}

export interface Forward {
  /** Its inputs are data, frozen weights and trained ones, by name. */
  readonly graph: Graph;
  readonly loss: string;
  /** Leaves of the graph that was given: those that every step is given, and weights that stay as they are. */
  readonly data: readonly Node[];
  readonly frozen: readonly Node[];
  readonly trained: readonly Trained[];
}

const nameOf = (node: Node): string => String(node.attrs["name"]);

function typeOf(node: Node): TensorType {
  const [type] = node.outputs;
  if (type === undefined) throw new WorkbenchError("BUG_INVARIANT", `[training] ${nameOf(node)} has no type`);
  return type;
}

/** Checks a forward graph and takes it apart. `trainable` are names of parameters or inputs in f32. */
export function forwardOf(given: Graph, trainable: readonly string[]): Forward {
  const [output, ...more] = given.outputs;
  const type = output && given.nodes[output.value.node]?.outputs[output.value.output];
  if (output === undefined || more.length > 0 || type === undefined || type.shape.length > 0 || type.dtype !== "f32") {
    const got = given.outputs.map(({ name }) => name).join(", ") || "none";
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[training] outputs of the forward graph: got ${got}, expected one loss, f32[]`,
      {
        hint: "Reduce the loss to one number, and leave other outputs away.",
      },
    );
  }
  if (given.states.length > 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] got a graph with states, expected one without`, {
      hint: "Make a state an input of the forward graph.",
    });
  const leaves = given.nodes.filter(({ op }) => op === "input" || op === "param");
  const trained = trainable.map((name) => trainedOf(name, leaves, given));
  const isTrained = (node: Node): boolean => trainable.includes(nameOf(node));
  return {
    graph: withInputs(given),
    loss: output.name,
    data: leaves.filter((node) => node.op === "input" && !isTrained(node)),
    frozen: leaves.filter((node) => node.op === "param" && !isTrained(node)),
    trained,
  };
}

function trainedOf(name: string, leaves: readonly Node[], graph: Graph): Trained {
  const leaf = leaves.find((node) => nameOf(node) === name);
  if (leaf === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[training] trainable: got ${name}, expected a parameter of ${graph.name}: ${leaves.map(nameOf).join(", ")}`,
    );
  const type = typeOf(leaf);
  if (type.dtype !== "f32")
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] ${name}: got ${formatType(type)}, expected f32`, {
      hint: "Packed weights cannot be trained: train a LoRA adapter over them, or dequantise them first.",
    });
  return { name, shape: staticShape(type, name) };
}

/** The same graph with parameters as inputs, so that it can be put into another graph. */
function withInputs(given: Graph): Graph {
  const builder = new GraphBuilder(opTable, given.name);
  const values: (readonly Value[])[] = [];
  const map = (old: Value): Value => {
    const value = values[old.node]?.[old.output];
    if (value === undefined) throw new WorkbenchError("BUG_INVARIANT", `[training] value ${old.node} has no place`);
    return value;
  };
  for (const node of given.nodes)
    values.push(
      node.op === "param" ? [builder.input(nameOf(node), typeOf(node))] : copyNode(builder, given, node, map),
    );
  for (const [symbol, size] of Object.entries(given.symbolLimits)) builder.limitSymbol(symbol, size);
  for (const { name, value } of given.outputs) builder.output(name, map(value));
  return builder.finish();
}

export interface Gradients {
  readonly graph: Graph;
  /** Name of the input that is the cotangent of the loss. */
  readonly scale: string;
  readonly loss: string;
  /** In the order of the trained weights. */
  readonly outputs: readonly string[];
  /** What a budget for activations came to. */
  readonly trade?: Trade;
}

/** Loss and gradients, computed in this precision between inputs and outputs of f32. `budget`: bytes for what is in between, in f32. */
export function gradientsOf({ graph, loss, trained }: Forward, precision: PrecisionPolicy, budget?: number): Gradients {
  const wrt = trained.map(({ name }) => name);
  const request = { of: [loss], wrt };
  const { graph: whole, trade } =
    budget === undefined
      ? { graph: gradientGraph(graph, request), trade: undefined }
      : checkpoint(graph, { ...request, budget });
  const typed = finish(applyPrecision(prune(whole).graph, precision));
  const outputs = wrt.map((name) => gradientName(name));
  return { graph: typed, scale: cotangentName(loss), loss, outputs, ...(trade === undefined ? {} : { trade }) };
}

/** The Hessian's product with a vector for each weight, `tangent.<weight>`: outputs `tangent.gradient.<weight>`. */
export function curvatureOf({ graph, loss, trained }: Forward): Graph {
  const wrt = trained.map(({ name }) => name);
  const first = gradientGraph(graph, { of: [loss], wrt, cotangents: "ones" });
  return tangentGraph(first, { of: wrt.map((name) => gradientName(name)), wrt });
}
