/**
 * The NaN alarm: which operation made the first number that is none, of those that reached the loss or a gradient.
 * The device runs the step once more with a probe of every value. From the outputs that are no numbers the way goes back
 * through values that are none either; of the operations on it that were given numbers only, the first in the graph's order
 * is the cause. A cause with sub-graphs (a branch, a loop) is walked inside on its own operands.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { FetchedTensor } from "../ir/session.ts";
import { firstInside } from "./faultInside.ts";
import type { Fault, Probes } from "./fault.ts";
import { faultOf, worded } from "./fault.ts";
import type { OddNumber } from "./probes.ts";
import { probedGraph, probeOf, ZERO } from "./probes.ts";
import type { TrainingRunner } from "./trainingDevice.ts";

type Arrays = Readonly<Record<string, ArrayBufferView>>;
type Open = (graph: Graph) => Promise<TrainingRunner>;

/** Undefined where every output of the graph is a number in this run. `graph` has no states. */
export async function firstFault(
  graph: Graph,
  given: Arrays,
  open: Open,
  signal?: AbortSignal,
): Promise<Fault | undefined> {
  const probed = probedGraph(graph);
  const inputs = { ...given, [ZERO]: Float32Array.of(0) };
  const made = await once(open, probed.graph, inputs, [...probed.outputs.values()], signal);
  const probes = new Map(
    [...probed.outputs].map(([key, name]) => {
      const tensor = made[name];
      invariant(tensor, `[alarm] the device gives ${name}`);
      return [key, probeOf(numbersIn(tensor.dtype, tensor.bytes))] as const;
    }),
  );
  const cause = firstCause(graph, probes);
  if (cause === undefined) return undefined;
  if (cause.node.regions.length === 0) return faultOf(graph, cause.node, cause.output, probes);
  return inside(graph, cause, probes, given, open, signal);
}

async function once(
  open: Open,
  graph: Graph,
  inputs: Arrays,
  fetch: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, FetchedTensor>>> {
  const runner = await open(graph);
  try {
    return await runner.run(inputs, fetch, signal);
  } finally {
    await runner.dispose();
  }
}

interface Cause {
  readonly node: Node;
  readonly output: number;
}

/** NaN tells more than an infinity: a mask may hold infinities from the start, and they do no harm by themselves. */
function firstCause(graph: Graph, probes: Probes): Cause | undefined {
  const holds = (value: Value): OddNumber | undefined => probes.get(valueKey(value))?.holds;
  const reached = new Set<string>();
  const open = graph.outputs.map(({ value }) => value).filter((value) => holds(value) !== undefined);
  const causes: Cause[] = [];
  const masks: Cause[] = [];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (reached.has(valueKey(value))) continue;
    reached.add(valueKey(value));
    const node = graph.nodes[value.node];
    invariant(node, `[alarm] node ${value.node} is in the graph`);
    const odd = node.inputs.filter((input) => holds(input) !== undefined);
    const isNew = odd.length === 0 || (holds(value) === "NaN" && odd.every((input) => holds(input) !== "NaN"));
    if (isNew) (isLeaf(node) && holds(value) !== "NaN" ? masks : causes).push({ node, output: value.output });
    open.push(...odd);
  }
  const [first] = (causes.length > 0 ? causes : masks).toSorted((a, b) => a.node.id - b.node.id);
  return first;
}

/** Takes the operands of a branch or loop from the device, and walks it on them. */
async function inside(
  graph: Graph,
  { node, output }: Cause,
  probes: Probes,
  given: Arrays,
  open: Open,
  signal: AbortSignal | undefined,
): Promise<Fault> {
  const outer = faultOf(graph, node, output, probes);
  const outputs = node.inputs.map((value, i) => ({ name: `operand ${i}`, value }));
  const made = await once(
    open,
    { ...graph, outputs },
    given,
    outputs.map(({ name }) => name),
    signal,
  );
  const operands = outputs.map(({ name }) => {
    const tensor = made[name];
    if (tensor === undefined) throw new WorkbenchError("BUG_INVARIANT", `[alarm] the device gives no ${name}`);
    return hostTensor(tensor.dtype, tensor.shape, numbersIn(tensor.dtype, tensor.bytes));
  });
  const found = firstInside(node, operands, signal);
  if (found === undefined) return outer;
  const { op, name, kind, dtype, inputs } = found;
  const place = [outer.place, outer.name].filter((part) => part !== "").join("/");
  return worded({ ...outer, op, name, place, kind, dtype, inputs });
}
