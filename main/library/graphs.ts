/** Graphs as users of the library make and run them: built in one function, evaluated, frozen. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { StateOptions } from "../ir/builder.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Bindings } from "../ir/dim.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { isMemoryParam } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { Initial } from "../ir/initial.ts";
import { rewrite } from "../ir/rewrite.ts";
import { finish } from "../ir/steps.ts";
import type { ReadGraph, TextOptions } from "../ir/text/build.ts";
import { parseGraph as parseGraphOf, readGraph as readGraphOf } from "../ir/text/build.ts";
import type { TensorType } from "../ir/type.ts";
import { parseType } from "../ir/type.ts";
import type { Finding } from "../ir/verify.ts";
import { verify } from "../ir/verify.ts";
import type { Evaluation } from "../ops/evaluate.ts";
import { evaluate as evaluateSteps } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { memoryParamsOf } from "../runtime/memoryLeaves.ts";
import type { Numbers } from "../runtime/numbers.ts";
import { hostInputs, tensorOf } from "../runtime/numbers.ts";

/** A type as a value or as text: `"f32[T,64]"`. */
export type TypeText = TensorType | string;

/**
 * What a graph is built with: one method for each operation (docs/ops.md lists them), as `g.add([a, b])` or
 * `g.reduce([x], { kind: "sum", axes: [0] })`, and the methods below for everything that is no operation.
 */
export interface GraphMaker extends OpBuilder {
  /** A value that every run is given. Sizes may be symbols, which follow from the first tensor that has them. */
  input(name: string, type: TypeText): Value;
  /** A parameter that a session keeps: set by name, or made from `initial`. */
  param(name: string, type: TypeText, initial?: Initial): Value;
  /** A value that a session carries from run to run; it is zero before the first. */
  state(name: string, type: TypeText, options?: StateOptions): Value;
  /** A state with an initial value. */
  variable(name: string, type: TypeText, initial: Initial): Value;
  /** What a state or variable is after the run. */
  setState(name: string, value: Value): void;
  output(name: string, value: Value): void;
  /** Largest size of a symbol: an engine plans its memory for it. */
  limitSymbol(symbol: string, size: number): void;
  /** Names a part of the model: operations made inside are shown there. */
  scoped<T>(scope: string, build: () => T): T;
}

const typeOf = (type: TypeText): TensorType => (typeof type === "string" ? parseType(type) : type);

/**
 * Builds a graph. Every operation is typed when it is added, so that a wrong shape fails at its own line.
 *
 * @example
 * const graph = buildGraph("double", (g) => {
 *   const x = g.input("x", "f32[3]");
 *   g.output("y", g.add([x, x]));
 * });
 */
export function buildGraph(name: string, build: (g: GraphMaker) => void): Graph {
  const builder = new GraphBuilder(opTable, name);
  const leaves: Omit<GraphMaker, keyof OpBuilder> = {
    input: (own, type) => builder.input(own, typeOf(type)),
    param: (own, type, initial) =>
      builder.param(own, typeOf(type), { memory: true, ...(initial === undefined ? {} : { initial }) }),
    state: (own, type, options) => builder.state(own, typeOf(type), options),
    variable: (own, type, initial) => builder.variable(own, typeOf(type), initial),
    setState: (own, value) => builder.setState(own, value),
    output: (own, value) => builder.output(own, value),
    limitSymbol: (symbol, size) => builder.limitSymbol(symbol, size),
    scoped: (scope, inside) => builder.scoped(scope, inside),
  };
  build(Object.assign(typedBuilder(builder), leaves));
  return builder.finish();
}

/** Every fault of a graph that did not come from `buildGraph`; empty for a sound one. */
export const verifyGraph = (graph: Graph): readonly Finding[] => verify(opTable, graph);

/** The graph of a text (docs/ir-text.md), or everything that is wrong with it. */
export const readGraph = (text: string, options: TextOptions = {}): ReadGraph => readGraphOf(opTable, text, options);

/** The graph of a text, or an error with the first fault. `name` is the text's in messages. */
export const parseGraph = (text: string, options: TextOptions & { readonly name?: string } = {}): Graph =>
  parseGraphOf(opTable, text, options);

export interface EvaluateOptions {
  /** Parameters by name; those not given start with their initial value. */
  readonly params?: Readonly<Record<string, Numbers>>;
  /** States by name; those not given start with their initial value, or as zeros. */
  readonly states?: Readonly<Record<string, HostTensor>>;
  /** The numbers of a weight that a file holds. */
  readonly weights?: (name: string, type: TensorType) => HostTensor;
  /** Sizes of symbols that no input tells. */
  readonly symbols?: Bindings;
  readonly signal?: AbortSignal;
}

/**
 * Runs a graph in TypeScript, in float64: exact and slow. Every engine is compared with this.
 * Numbers may be given flat; their shape follows from the graph.
 */
export function evaluate(
  graph: Graph,
  inputs: Readonly<Record<string, Numbers>>,
  { params = {}, states, weights, symbols, signal }: EvaluateOptions = {},
): Evaluation {
  return finish(
    evaluateSteps(graph, {
      inputs: hostInputs(graph, inputs, symbols),
      params: paramTensors(graph, params),
      ...(states === undefined ? {} : { states }),
      ...(weights === undefined ? {} : { param: weights }),
      ...(symbols === undefined ? {} : { bindings: symbols }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

/** The same graph with these parameters as constants. Exported graphs have no other parameters. */
export function freeze(graph: Graph, params: Readonly<Record<string, Numbers>>): Graph {
  const tensors = paramTensors(graph, params);
  const rewritten = rewrite(opTable, graph, "freeze", (node, _map, replace) => {
    const tensor = isMemoryParam(node) ? tensors[String(node.attrs["name"])] : undefined;
    return tensor && [replace().constant(tensor)];
  });
  return finish(rewritten).graph;
}

function paramTensors(graph: Graph, params: Readonly<Record<string, Numbers>>): Readonly<Record<string, HostTensor>> {
  const known = new Map(memoryParamsOf(graph).map((leaf) => [leaf.name, leaf]));
  return Object.fromEntries(
    Object.entries(params).map(([name, numbers]) => {
      const leaf = known.get(name);
      if (leaf !== undefined) return [name, tensorOf(name, leaf.dtype, leaf.shape, numbers)];
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[params] got ${name}, expected ${[...known.keys()].join(", ") || "none"}`,
      );
    }),
  );
}
