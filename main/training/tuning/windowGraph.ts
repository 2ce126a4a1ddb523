/**
 * The graph that fine-tuning differentiates: a decoder's step as one window of tokens from the start of a text, without caches, for
 * a batch of windows at once, with the mean cross-entropy as its output. Every family's own graph is taken as it is: its
 * states are empty before the window and forgotten behind it, its past is 0, and all rows give logits.
 */
import { batchGraph } from "../../autodiff/vmap.ts";
import { expandForGradients } from "../../autodiff/vjp.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Graph, Node, Value, WeightSource } from "../../ir/graph.ts";
import { valueKey } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import { initialOf } from "../../ir/initial.ts";
import { copyNode, prune } from "../../ir/rewrite.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import { INPUTS, LOGITS, ROWS, TOKENS } from "../../models/blocks.ts";
import type { DecoderArchitecture } from "../../models/family.ts";
import { filled } from "../../ops/families/constants.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";

/** Inputs of the graph, i32 [batch, context], and its output. */
export const WINDOW = { tokens: "tokens", targets: "targets", loss: "loss" } as const;
/** A target that is not learned: of a prompt, or of padding. */
export const IGNORED = -1;

export interface WindowSizes {
  /** Tokens of a window. */
  readonly context: number;
  /** Windows of a batch. */
  readonly batch: number;
}

/** The graphs of one training; trained weights are inputs of both, by their names. */
export interface WindowGraphs {
  /** `tokens` and `targets` i32 [batch, context] in, `loss` f32 [] out. */
  readonly loss: Graph;
  /** `tokens` i32 [context] in, `logits` f32 [context, vocabulary] out. */
  readonly logits: Graph;
  /** The trained weights that the graphs read: a graph may ask for a tensor that it then has no use for. */
  readonly trained: readonly string[];
}

/** `weights` says which tensors are packed and what is added to them; those of `trained` have to be in f32 there. */
export function windowGraphs(
  architecture: DecoderArchitecture,
  weights: WeightSource,
  trained: readonly string[],
  sizes: WindowSizes,
): WindowGraphs {
  const { context, batch } = checked(sizes, architecture);
  const step = finish(
    architecture.graph(weights, { capacity: context, cacheType: "f32", largestStep: context, largestRows: context }),
  );
  const bound = finish(specialize(opTable, step, { [TOKENS]: context, [ROWS]: context }));
  const logits = withInputs(withoutPast(bound, context), new Set(trained));
  const expanded = expandForGradients(logits);
  const names = new Set(logits.inputs.map((id) => inputName(logits, id)));
  return {
    loss: withLoss(batch === 1 ? expanded : batchGraph(expanded, [INPUTS.tokens], batch), { context, batch }),
    logits,
    trained: trained.filter((name) => names.has(name)),
  };
}

function inputName(graph: Graph, id: number): string {
  const node = graph.nodes[id];
  invariant(node, `input ${id} is a node`);
  return nameOf(node);
}

function checked(sizes: WindowSizes, { context, name }: DecoderArchitecture): WindowSizes {
  const refuse = (what: string, got: number, expected: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[training] ${what}: got ${got}, expected ${expected}`);
  if (!Number.isSafeInteger(sizes.context) || sizes.context < 2 || sizes.context > context)
    throw refuse("context", sizes.context, `2 to ${context} tokens, which ${name} was trained for`);
  if (!Number.isSafeInteger(sizes.batch) || sizes.batch < 1 || sizes.batch > 1024)
    throw refuse("batch", sizes.batch, "1 to 1024 windows");
  return sizes;
}

const nameOf = (node: Node): string => String(node.attrs["name"]);

/** States are what they are before a first step, nothing is past, and every row is wanted. */
function withoutPast(source: Graph, context: number): Graph {
  const builder = new GraphBuilder(opTable, `${source.name} window`);
  const g = typedBuilder(builder);
  const map = copied(
    builder,
    source,
    (node, before) => startOf(g, node) ?? shortened(g, source, node, before, context),
  );
  const logits = source.outputs.find(({ name }) => name === LOGITS);
  invariant(logits, `[training] ${source.name} gives logits`);
  builder.output(LOGITS, map(logits.value));
  return prune(builder.finish()).graph;
}

type Map = (old: Value) => Value;

/** Copies all nodes but those that `instead` gives other values for. */
function copied(
  builder: GraphBuilder,
  source: Graph,
  instead: (node: Node, map: Map) => readonly Value[] | undefined,
): Map {
  const values: (readonly Value[])[] = [];
  const map: Map = (old) => {
    const value = values[old.node]?.[old.output];
    invariant(value, `[training] value ${valueKey(old)} is read before it is made`);
    return value;
  };
  for (const node of source.nodes) values.push(instead(node, map) ?? copyNode(builder, source, node, map));
  return map;
}

/** Parameters that are trained as inputs, so that every run can be given them as they are. */
function withInputs(source: Graph, trained: ReadonlySet<string>): Graph {
  const builder = new GraphBuilder(opTable, source.name);
  const map = copied(builder, source, (node) => {
    const [type] = node.outputs;
    const isTrained = node.op === "param" && type !== undefined && trained.has(nameOf(node));
    return isTrained ? [builder.input(nameOf(node), type, { label: nameOf(node) })] : undefined;
  });
  for (const { name, value } of source.outputs) builder.output(name, map(value));
  return builder.finish();
}

/** What a leaf of the step is at the start of a text; undefined for what stays. */
function startOf(g: OpBuilder, node: Node): readonly Value[] | undefined {
  const [type] = node.outputs;
  if (node.op === "state" && type !== undefined) {
    const initial = initialOf(node.attrs) ?? { kind: "constant", value: 0 };
    invariant(initial.kind === "constant", `[training] ${nameOf(node)} starts with one number`);
    return [filled(g, plainDType(type.dtype, nameOf(node)), type.shape, initial.value)];
  }
  if (node.op !== "input" || type === undefined) return undefined;
  if (nameOf(node) === INPUTS.past) return [g.constant(hostScalar("i32", 0))];
  return nameOf(node) === INPUTS.rows ? [g.iota([], { shape: type.shape, axis: 0 })] : undefined;
}

/** A cache that holds the window is the window's own rows, and all rows in order are the rows: neither needs an op. */
function shortened(
  g: OpBuilder,
  source: Graph,
  { op, inputs, attrs }: Node,
  map: Map,
  context: number,
): readonly Value[] | undefined {
  const [first, second] = inputs;
  if (first === undefined || second === undefined) return undefined;
  const leaf = (value: Value): Node | undefined => source.nodes[value.node];
  if (op === "kv_append" && leaf(first)?.op === "state") {
    const fresh = map(second);
    const { dtype, shape } = g.typeOf(map(first));
    if (shape[1] !== context || g.typeOf(fresh).shape[0] !== context || g.typeOf(fresh).dtype !== dtype)
      return undefined;
    return [g.transpose([fresh], { perm: [1, 0, 2] })];
  }
  const isRows = (node: Node | undefined): boolean => node?.op === "input" && nameOf(node) === INPUTS.rows;
  const x = map(first);
  return op === "gather" && isRows(leaf(second)) && attrs["axis"] === 0 && g.typeOf(x).shape[0] === context
    ? [x]
    : undefined;
}

/** The mean of −log p(target) over the targets that count; 0 where none does. */
function withLoss(source: Graph, { context, batch }: WindowSizes): Graph {
  const builder = new GraphBuilder(opTable, source.name);
  const g = typedBuilder(builder);
  const row = (): Value => {
    const tokens = builder.input(WINDOW.tokens, { dtype: "i32", shape: [1, context] });
    return g.reshape([tokens], { shape: [context] });
  };
  // A graph of one window takes its tokens as a batch of one.
  const map = copied(builder, source, (node) =>
    batch === 1 && node.op === "input" && nameOf(node) === INPUTS.tokens ? [row()] : undefined,
  );
  const [logits] = source.outputs;
  invariant(logits, "a window gives logits");
  const all = map(logits.value);
  const vocabulary = g.typeOf(all).shape.at(-1) ?? 1;
  const rows = batch * context;
  const scores = g.reshape([all], { shape: [rows, vocabulary] });
  const given = builder.input(WINDOW.targets, { dtype: "i32", shape: [batch, context] });
  const targets = g.reshape([given], { shape: [rows] });

  const zero = g.constant(hostScalar("i32", 0));
  const counts = g.cast([g.compare([targets, zero], { op: "ge" })], { to: "f32" });
  const lost = g.reduce([g.softmax_cross_entropy([scores, targets])], { kind: "sum", axes: [0] });
  const count = g.maximum([g.reduce([counts], { kind: "sum", axes: [0] }), g.constant(hostScalar("f32", 1))]);
  builder.output(WINDOW.loss, g.div([lost, count], {}, WINDOW.loss));
  return builder.finish();
}
