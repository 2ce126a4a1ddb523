/**
 * The transforms as people know them from JAX, each a function from graph to graph. What one gives, any other takes: order and
 * depth are free, because what they make are ordinary ops. Each walks its graph once, so that its result is a constant
 * factor larger, whatever the graph. `vjp` and `jvp` add to a graph; the others give what they are named after and drop the rest.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim, Shape } from "../ir/dim.ts";
import { addDims, productOf } from "../ir/dim.ts";
import { plainDType } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { prune } from "../ir/rewrite.ts";
import type { TensorType } from "../ir/type.ts";
import { formatType } from "../ir/type.ts";
import { sizeValue } from "../ops/families/constants.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { tangentGraph, tangentName } from "./jvp.ts";
import { leavesOf, outputType } from "./names.ts";
import { copyNodes, cotangentName, gradientGraph, gradientName, itemAt } from "./vjp.ts";
import { mapItems } from "./vmap.ts";

export interface DerivativeRequest {
  /** The output to differentiate. */
  readonly of: string;
  /** Inputs, parameters or states in floats, by name. */
  readonly wrt: readonly string[];
  /** What stands before the names of the outputs that are made. */
  readonly prefix?: string;
}

/** Outputs `gradient.<name>` of one output that is one number, and nothing else. */
export function grad(graph: Graph, { of, wrt, prefix }: DerivativeRequest): Graph {
  oneNumber("grad", graph, of);
  // Of a gradient, the output has the name already that its own gradient gets.
  const whole = gradientGraph(withOutputs(graph, [of]), { of: [of], wrt, cotangents: "ones", prefix: DIRECTION });
  return renamed(
    whole,
    wrt.map((name) => ({ from: gradientName(name, DIRECTION), to: gradientName(name, prefix) })),
  );
}

/** The same beside the graph's own outputs. */
export function valueAndGrad(graph: Graph, { of, wrt, prefix }: DerivativeRequest): Graph {
  oneNumber("valueAndGrad", graph, of);
  return prune(gradientGraph(graph, { of: [of], wrt, cotangents: "ones", ...named(prefix) })).graph;
}

/**
 * The product of the Hessian of one number with a vector, by the tangent of the gradient: inputs `tangent.<name>`, outputs
 * `hvp.<name>`.
 */
export function hvp(graph: Graph, { of, wrt, prefix = "hvp" }: DerivativeRequest): Graph {
  oneNumber("hvp", graph, of);
  const first = grad(graph, { of, wrt });
  const gradients = wrt.map((name) => gradientName(name));
  const whole = tangentGraph(first, { of: gradients, wrt });
  const outputs = wrt.map((name, i) => ({ from: tangentName(itemAt(gradients, i)), to: `${prefix}.${name}` }));
  return renamed(whole, outputs);
}

/** Outputs `jacobian.<name>` of shape [...of, ...name], one column after the other: for few inputs and many outputs. */
export function jacfwd(graph: Graph, { of, wrt, prefix = "jacobian" }: DerivativeRequest): Graph {
  const types = leafTypes("jacfwd", graph, wrt);
  const { shape } = outputType("jacfwd", graph, of);
  const names = wrt.map((name) => tangentName(name, DIRECTION));
  const moved = tangentGraph(withOutputs(graph, [of]), { of: [of], wrt, prefix: DIRECTION });
  const column = withOutputs(moved, [tangentName(of, DIRECTION)]);
  const sizes = types.map((type) => productOf(type.shape));
  const total = sizes.reduce<Dim>(addDims, 0);
  return overBasis(
    column,
    names,
    total,
    (g, made) => {
      const rank = shape.length;
      let start: Dim = 0;
      return wrt.map((name, i) => {
        const size = itemAt(sizes, i);
        const own: Value =
          wrt.length === 1 ? itemAt(made, 0) : g.narrow([itemAt(made, 0)], { axis: 0, start, length: size });
        start = addDims(start, size);
        const last = rank === 0 ? own : g.transpose([own], { perm: [...shape.map((_, axis) => axis + 1), 0] });
        return [`${prefix}.${name}`, g.reshape([last], { shape: [...shape, ...itemAt(types, i).shape] })];
      });
    },
    types,
  );
}

/** The same, one row after the other: for many inputs and few outputs. */
export function jacrev(graph: Graph, { of, wrt, prefix = "jacobian" }: DerivativeRequest): Graph {
  const types = leafTypes("jacrev", graph, wrt);
  const type = outputType("jacrev", graph, of);
  const pulled = gradientGraph(withOutputs(graph, [of]), { of: [of], wrt, prefix: DIRECTION });
  const row = withOutputs(
    pulled,
    wrt.map((name) => gradientName(name, DIRECTION)),
  );
  return overBasis(
    row,
    [cotangentName(of)],
    productOf(type.shape),
    (g, made) =>
      wrt.map((name, i) => [
        `${prefix}.${name}`,
        g.reshape([itemAt(made, i)], { shape: [...type.shape, ...itemAt(types, i).shape] }),
      ]),
    [type],
  );
}

/** Of names that are there for a moment only. */
const DIRECTION = "one direction";

type Finish = (g: OpBuilder, made: readonly Value[]) => readonly (readonly [name: string, value: Value])[];

/** Runs a graph for each of `size` directions at once: the inputs `names` of these types get the rows of an identity. */
function overBasis(
  graph: Graph,
  names: readonly string[],
  size: Dim,
  finish: Finish,
  types: readonly TensorType[],
): Graph {
  const inAxes = Object.fromEntries(names.map((name) => [name, 0]));
  const mapped = mapItems(graph, { size, inAxes });
  const builder = new GraphBuilder(opTable, `${graph.name} jacobian`);
  const g = typedBuilder(builder);
  const given = new Map<string, Value>();
  let start: Dim = 0;
  names.forEach((name, i) => {
    const type = itemAt(types, i);
    given.set(name, basis(g, type, size, start));
    start = addDims(start, productOf(type.shape));
  });
  const map = copyNodes(builder, mapped, given);
  const made = mapped.outputs.map(({ value }) => map(value));
  for (const [name, value] of finish(g, made)) builder.output(name, value);
  for (const state of mapped.states) builder.setState(state.name, map(state.output));
  return prune(builder.finish()).graph;
}

/** Rows of an identity of `size`: column `start` is the first number of the value. */
function basis(g: OpBuilder, { dtype, shape }: TensorType, size: Dim, start: Dim): Value {
  const table: Shape = [size, productOf(shape)];
  const rows = g.iota([], { shape: table, axis: 0 });
  const columns = g.iota([], { shape: table, axis: 1 });
  const own = start === 0 ? columns : g.add([columns, sizeValue(g, [start], "i32")]);
  const ones = g.cast([g.compare([rows, own], { op: "eq" })], { to: plainDType(dtype, "jacobian") });
  return g.reshape([ones], { shape: [size, ...shape] });
}

function oneNumber(who: string, graph: Graph, of: string): void {
  const type = outputType(who, graph, of);
  if (type.shape.length > 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] output ${of}: got ${formatType(type)}, expected one number`, {
      hint: "Reduce it to one number, use vjp, which takes a cotangent of its shape, or jacrev.",
    });
}

function leafTypes(who: string, graph: Graph, names: readonly string[]): readonly TensorType[] {
  return leavesOf(who, graph, names).map(({ outputs }) => itemAt(outputs, 0));
}

const named = (prefix: string | undefined): { readonly prefix?: string } => (prefix === undefined ? {} : { prefix });

/** The graph with these outputs only, and what they need. */
function withOutputs(graph: Graph, names: readonly string[]): Graph {
  const outputs = graph.outputs.filter(({ name }) => names.includes(name));
  return prune({ ...graph, outputs }).graph;
}

function renamed(graph: Graph, names: readonly { readonly from: string; readonly to: string }[]): Graph {
  const outputs = names.map(({ from, to }) => {
    const output = itemAt(
      graph.outputs.filter(({ name }) => name === from),
      0,
    );
    return { name: to, value: output.value };
  });
  return prune({ ...graph, outputs }).graph;
}
