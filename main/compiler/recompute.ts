/**
 * Checkpointing: a gradient reads activations of the forward pass, and they take memory until then. With a budget, some are
 * kept, and the others computed once more, right before the gradient needs them. The ways to choose are: keep what products
 * made and repeat the cheap rest, or cut the forward pass into segments and keep what crosses a cut (Chen et al. 2016), few
 * segments first. Of those that fit the budget, the one that adds the least arithmetic is taken.
 */
import type { GradientRequest } from "../autodiff/vjp.ts";
import { gradientParts } from "../autodiff/vjp.ts";
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Bindings } from "../ir/dim.ts";
import { dimSymbols } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, rootsOf } from "../ir/graph.ts";
import { copyNode, prune } from "../ir/rewrite.ts";
import { opOf, opTable } from "../ops/index.ts";
import { commonSubexpressions, isPure, RECOMPUTED } from "../passes/commonSubexpressions.ts";
import { Arithmetic } from "./cost/arithmetic.ts";
import { valueBytes } from "./cost/movedBytes.ts";

export interface Trade {
  /** Most bytes of activations and other values in between at one time, in the order of the graph. */
  readonly bytes: number;
  /** The same where all activations are kept. */
  readonly bytesWithout: number;
  /** Operations that are done twice, and their arithmetic as a share of the whole without. */
  readonly opsAdded: number;
  readonly workAdded: number;
}

export interface Checkpointed {
  readonly graph: Graph;
  readonly trade: Trade;
}

export interface CheckpointRequest extends GradientRequest {
  /** Bytes for values between inputs and outputs: activations, and what the gradient holds besides. */
  readonly budget: number;
  /** Sizes of symbols, for counting; those that the graph limits are known. */
  readonly symbols?: Bindings;
}

/** The gradient graph (`vjp`) with as much recomputed as the budget asks for, and what that costs. */
export function checkpoint(graph: Graph, { budget, symbols, ...request }: CheckpointRequest): Checkpointed {
  const { graph: whole, forward } = gradientParts(graph, request);
  const pruned = prune(whole);
  // The rules write some forward expressions again; together with them an activation is used longer than it seems.
  const { graph: shared, moved } = commonSubexpressions.run(pruned.graph);
  let end = 0;
  for (let id = 0; id < forward; id++) end = Math.max(end, (moved[pruned.moved[id] ?? -1] ?? -1) + 1);
  return recompute(shared, end, budget, { ...shared.symbolLimits, ...symbols });
}

function recompute(graph: Graph, forward: number, budget: number, bindings: Bindings): Checkpointed {
  checkSizes(graph, bindings);
  const facts = new Facts(graph, forward, bindings);
  const without = facts.play(graph.nodes.map((node) => ({ node, again: false })));
  const plain: Plan = { order: [], bytes: without, work: 0 };
  if (without <= budget) return { graph, trade: facts.trade(plain, without) };
  let least = without;
  let best: Plan | undefined;
  for (const kept of facts.choices()) {
    const order = facts.order(kept);
    const bytes = facts.play(order);
    const work = order.reduce((sum, { node, again }) => sum + (again ? facts.work(node) : 0), 0);
    least = Math.min(least, bytes);
    if (bytes <= budget && (best === undefined || work < best.work)) best = { order, bytes, work };
  }
  if (best === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[checkpoint] budget: got ${budget} bytes, expected ${least} or more`, {
      hint: "A smaller batch, or shorter sequences, need less. The gradient of the largest operation alone needs its operands.",
    });
  return { graph: built(graph, best.order), trade: facts.trade(best, without) };
}

interface Step {
  readonly node: Node;
  readonly again: boolean;
}

interface Plan {
  readonly order: readonly Step[];
  readonly bytes: number;
  readonly work: number;
}

function checkSizes(graph: Graph, bindings: Bindings): void {
  const symbols = new Set(
    graph.nodes.flatMap(({ outputs }) => outputs.flatMap(({ shape }) => shape.flatMap(dimSymbols))),
  );
  const unknown = [...symbols].filter((symbol) => bindings[symbol] === undefined);
  if (unknown.length > 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[checkpoint] symbols: got none for ${unknown.join(", ")}, expected sizes`,
      {
        hint: "Bytes are counted for known sizes: give `symbols`, or limit the symbols of the graph.",
      },
    );
}

/** What is known of the nodes, and what a plan comes to. */
class Facts {
  readonly #graph: Graph;
  readonly #forward: number;
  readonly #bindings: Bindings;
  readonly #arithmetic: Arithmetic;
  readonly #roots: ReadonlySet<number>;
  /** Bytes of each node's results; 0 for leaves, and for views, which are their operand's. */
  readonly #bytes: Float64Array;

  constructor(graph: Graph, forward: number, bindings: Bindings) {
    this.#graph = graph;
    this.#forward = forward;
    this.#bindings = bindings;
    this.#arithmetic = new Arithmetic(graph, bindings);
    this.#roots = new Set(rootsOf(graph).map(({ node }) => node));
    this.#bytes = Float64Array.from(graph.nodes, (node) =>
      isLeaf(node) || isView(node) ? 0 : node.outputs.reduce((sum, type) => sum + valueBytes(type, bindings), 0),
    );
  }

  work(node: Node): number {
    return this.#arithmetic.of(node);
  }

  trade({ order, bytes, work }: Plan, without: number): Trade {
    const whole = this.#graph.nodes.reduce((sum, node) => sum + this.work(node), 0);
    const opsAdded = order.filter(({ again }) => again).length;
    return { bytes, bytesWithout: without, opsAdded, workAdded: whole === 0 ? 0 : work / whole };
  }

  /** Which forward nodes are kept, by id. */
  *choices(): Generator<Uint8Array> {
    const { nodes } = this.#graph;
    const always = Uint8Array.from(nodes, (node) => (isLeaf(node) || !isPure(node) ? 1 : 0));
    yield always.map((flag, id) => {
      const node = nodes[id];
      return flag === 1 || (node !== undefined && this.#isProduct(node)) ? 1 : 0;
    });
    for (let count = 2; count <= this.#forward; count = Math.ceil(count * 1.4)) yield this.#crossing(always, count);
  }

  /** It adds up more than it gives. */
  #isProduct(node: Node): boolean {
    const elements = node.outputs.reduce((sum, type) => sum + valueBytes({ ...type, dtype: "u8" }, this.#bindings), 0);
    return this.work(node) > 8 * elements;
  }

  #crossing(always: Uint8Array, count: number): Uint8Array {
    const kept = always.slice();
    const total = this.#bytes.subarray(0, this.#forward).reduce((sum, bytes) => sum + bytes, 0);
    // The segment of a node, by the bytes before it.
    const segment = new Int32Array(this.#forward);
    let seen = 0;
    for (let id = 0; id < this.#forward; id++) {
      segment[id] = Math.min(count - 1, Math.floor((seen * count) / Math.max(1, total)));
      seen += this.#bytes[id] ?? 0;
    }
    for (const node of this.#graph.nodes.slice(0, this.#forward))
      for (const input of node.inputs) if ((segment[input.node] ?? 0) < (segment[node.id] ?? 0)) kept[input.node] = 1;
    return kept;
  }

  /** The forward nodes, then those of the gradient, each after what it needs once more. */
  order(kept: Uint8Array): readonly Step[] {
    const { nodes } = this.#graph;
    const steps: Step[] = nodes.slice(0, this.#forward).map((node) => ({ node, again: false }));
    const made = new Set<number>();
    for (const node of nodes.slice(this.#forward)) {
      const open = node.inputs.map((input) => input.node);
      const missing: number[] = [];
      for (let id = open.pop(); id !== undefined; id = open.pop()) {
        if (id >= this.#forward || kept[id] === 1 || made.has(id)) continue;
        made.add(id);
        missing.push(id);
        open.push(...(nodes[id]?.inputs.map((input) => input.node) ?? []));
      }
      for (const id of missing.sort((a, b) => a - b)) {
        const own = nodes[id];
        invariant(own, `[checkpoint] node ${id} is there`);
        steps.push({ node: own, again: true });
      }
      steps.push({ node, again: false });
    }
    return steps;
  }

  /** Most bytes that are held at one time. Outputs are there in any case, so they are not counted. */
  play(steps: readonly Step[]): number {
    const count = this.#graph.nodes.length;
    const last = new Int32Array(2 * count).fill(-1);
    // Whose memory a result is; of a view, its operand's.
    const owner = Int32Array.from({ length: 2 * count }, (_, key) => key);
    const reads = sourcesOf(steps, count, this.#forward);
    steps.forEach(({ node, again }, at) => {
      const [first] = reads[at] ?? [];
      if (isView(node) && first !== undefined) owner[keyOf(node.id, again, count)] = owner[first] ?? first;
    });
    // From behind: what nothing needs is not computed.
    for (let at = steps.length - 1; at >= 0; at--) {
      const step = steps[at];
      invariant(step, "[checkpoint] a step at its place");
      const key = keyOf(step.node.id, step.again, count);
      const isRoot = !step.again && this.#roots.has(step.node.id);
      if ((last[key] ?? -1) < 0 && !isRoot) continue;
      for (const read of reads[at] ?? [])
        for (const held of [read, owner[read] ?? read]) if ((last[held] ?? -1) < 0) last[held] = at;
    }
    const ends: number[][] = steps.map(() => []);
    last.forEach((at, key) => {
      if (at >= 0) ends[at]?.push(key);
    });
    let [held, most] = [0, 0];
    const bytesOf = (key: number): number => {
      const id = key < count ? key : key - count;
      return key < count && this.#roots.has(id) ? 0 : (this.#bytes[id] ?? 0);
    };
    steps.forEach(({ node, again }, at) => {
      const key = keyOf(node.id, again, count);
      if ((last[key] ?? -1) >= 0) held += bytesOf(key);
      most = Math.max(most, held);
      for (const end of ends[at] ?? []) held -= bytesOf(end);
    });
    return most;
  }
}

const isView = (node: Node): boolean => opOf(node.op)?.traits.includes("view") === true;
const keyOf = (id: number, again: boolean, count: number): number => (again ? id + count : id);

/** For each step the results that it reads: of the gradient and of repeated nodes, repeated ones where there are any. */
function sourcesOf(steps: readonly Step[], count: number, forward: number): readonly (readonly number[])[] {
  const repeated = new Uint8Array(count);
  return steps.map(({ node, again }) => {
    const late = again || node.id >= forward;
    const reads = node.inputs.map((input) => keyOf(input.node, late && repeated[input.node] === 1, count));
    if (again) repeated[node.id] = 1;
    return reads;
  });
}

function built(graph: Graph, steps: readonly Step[]): Graph {
  const builder = new GraphBuilder(opTable, graph.name);
  const [first, again]: [(readonly Value[] | undefined)[], (readonly Value[] | undefined)[]] = [[], []];
  let late = false;
  const map = (old: Value): Value => {
    const value = ((late ? again[old.node] : undefined) ?? first[old.node])?.[old.output];
    invariant(value, `[checkpoint] value ${old.node} is read before it is made`);
    return value;
  };
  for (const [symbol, size] of Object.entries(graph.symbolLimits)) builder.limitSymbol(symbol, size);
  // Until something is repeated, there is nothing else to read.
  for (const step of steps) {
    late ||= step.again;
    if (step.again) {
      const marked = { ...step.node, passes: [...step.node.passes, RECOMPUTED] };
      again[step.node.id] = copyNode(builder, graph, marked, map);
    } else first[step.node.id] = copyNode(builder, graph, step.node, map);
  }
  late = false;
  for (const { name, value } of graph.outputs) builder.output(name, map(value));
  for (const { name, output } of graph.states) builder.setState(name, map(output));
  return prune(builder.finish()).graph;
}
