/**
 * The cost of a step of a graph that one unit runs op by op, as the CPU engine and MLX do: each op reads its weights as the engine
 * holds them, its caches as far as they are filled, and its operands; and is started by itself.
 */
import type { Bindings } from "../../ir/dim.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { each } from "../../ir/steps.ts";
import type { Steps } from "../../ir/steps.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { TEMPLATE } from "../../models/template.ts";
import { opOf } from "../../ops/index.ts";
import { Arithmetic } from "./arithmetic.ts";
import type { Machine } from "./machines.ts";
import { MovedBytes } from "./movedBytes.ts";
import type { Seconds } from "./seconds.ts";
import { NO_TIME, SecondsColumns, sumOf, workSeconds } from "./seconds.ts";
import type { StepCost } from "./stepCost.ts";
import { stepCost } from "./stepCost.ts";

/** Seconds that starting one op takes. CPU: threads meet before and behind it. GPU: a kernel of a command buffer. */
const START: Readonly<Record<"cpu" | "gpu", Seconds>> = {
  cpu: { value: 1.5e-6, low: 0.5e-6, high: 4e-6 },
  gpu: { value: 3e-6, low: 1.5e-6, high: 6e-6 },
};

export interface GraphCostInput {
  /** Legal for the engine. */
  readonly graph: Graph;
  readonly bindings: Bindings;
  readonly held: HeldBytes;
  readonly machine: Machine;
  readonly unit: "cpu" | "gpu";
  /** Tokens of a step. */
  readonly tokens: number;
}

/** Of a mixture's experts, those that the tokens of a step can meet: a token picks `slots` of them. */
function pickedShare(graph: Graph, node: Node, bindings: Bindings): number {
  if (node.op !== "linear_grouped") return 1;
  const size = (operand: number, axis: number): number => {
    const value = node.inputs[operand];
    const dim = value === undefined ? 1 : (graph.nodes[value.node]?.outputs[value.output]?.shape.at(axis) ?? 1);
    return typeof dim === "number" ? dim : (bindings[dim] ?? 1);
  };
  const [experts, tokens, slots] = [size(1, 0), size(2, 0), size(2, 1)];
  // Chosen at random, tokens share experts: the expected share of those that at least one of them meets.
  return experts <= slots ? 1 : 1 - (1 - slots / experts) ** tokens;
}

/** Which part of a full cache an op with a window sees. */
function seenShare({ attrs }: Node, capacity: number, tokens: number): number {
  const window = attrs["window"] ?? attrs["chunk"];
  return typeof window !== "number" || capacity <= 0 ? 1 : Math.min(1, (window + tokens) / capacity);
}

/** Nodes between two pauses. */
const SLICE = 256;

export function* graphCost({ graph, bindings, held, machine, unit, tokens }: GraphCostInput): Steps<StepCost> {
  const moved = new MovedBytes(graph, bindings, held);
  const arithmetic = new Arithmetic(graph, bindings);
  const nodes = new SecondsColumns(graph.nodes.length);
  const capacity = bindings[TEMPLATE.capacity] ?? 0;
  const work: Seconds[] = [];
  const starting: Seconds[] = [];
  let [weightBytes, valueBytes, all] = [0, 0, 0];
  yield* each(graph.nodes, SLICE, (node) => {
    if (isLeaf(node) || opOf(node.op)?.traits.includes("view") === true) return;
    const { caches, states, activations, written, ...own } = moved.parts(node);
    const weights = own.weights * pickedShare(graph, node, bindings);
    const flops = arithmetic.of(node);
    const seen = seenShare(node, capacity, tokens);
    /** With so much of the cache filled. */
    const at = (filled: number): Seconds =>
      workSeconds(machine, unit, {
        bytes: weights + states + activations + written + caches * Math.min(filled, seen),
        flops,
      });
    const [empty, half, full] = caches === 0 ? sameThrice(at(0)) : [at(0), at(0.5), at(1)];
    const seconds = { value: half.value, low: empty.low, high: full.high };
    work.push(seconds);
    starting.push(START[unit]);
    nodes.add(node.id, seconds);
    nodes.add(node.id, START[unit]);
    weightBytes += weights;
    valueBytes += states + activations + written + caches * Math.min(0.5, seen);
    all += flops;
  });
  return stepCost({
    tokens,
    nodes,
    segments: [{ device: unit, work: sumOf(work), starting: sumOf(starting), weightBytes, valueBytes, flops: all }],
    hops: [],
    caches: NO_TIME,
    cacheBytes: 0,
  });
}

const sameThrice = (seconds: Seconds): readonly [Seconds, Seconds, Seconds] => [seconds, seconds, seconds];
