/**
 * Inside a branch or a loop: its sub-graphs are run node by node in TypeScript, each result rounded to its type, and the
 * first node that makes no number of numbers is the cause. A device cannot be asked here, because what a turn computes
 * is gone with the next one.
 */
import { invariant, throwIfCancelled } from "../diagnostics/errors.ts";
import { isFloat } from "../ir/dtype.ts";
import type { Graph, Node } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { RegionRun } from "../ops/defineOp.ts";
import { opOf } from "../ops/index.ts";
import { roundToFloat } from "../quant/half.ts";
import type { Fault, Probes } from "./fault.ts";
import { faultOf } from "./fault.ts";
import type { Probe } from "./probes.ts";

type Tensors = readonly HostTensor[];

export function firstInside(node: Node, operands: Tensors, signal?: AbortSignal): Fault | undefined {
  let found: Fault | undefined;
  const run = (own: Node, inputs: Tensors): Tensors => {
    throwIfCancelled(signal);
    const op = opOf(own.op);
    invariant(op, `[alarm] no op ${own.op}`);
    const made = op.reference(inputs, own.attrs, own.outputs, own.regions.map(runOf));
    return made.map((tensor) =>
      isFloat(tensor.dtype) ? { ...tensor, data: tensor.data.map((x) => roundToFloat(x, tensor.dtype)) } : tensor,
    );
  };
  const runOf =
    (region: Graph): RegionRun =>
    (inputs) => {
      const values: Tensors[] = [];
      const probes = new Map<string, Probe>();
      const read = (value: { readonly node: number; readonly output: number }): HostTensor => {
        const tensor = values[value.node]?.[value.output];
        invariant(tensor, `[alarm] value ${value.node} of ${region.name} is read before it is made`);
        return tensor;
      };
      for (const own of region.nodes) {
        values[own.id] = isLeaf(own) ? [leafOf(region, own, inputs)] : run(own, own.inputs.map(read));
        values[own.id]?.forEach((tensor, output) => {
          if (isFloat(tensor.dtype)) probes.set(valueKey({ node: own.id, output }), probeTensor(tensor));
        });
        // A loop in a loop has told already.
        found ??= faultAt(region, own, probes);
      }
      return region.outputs.map(({ value }) => read(value));
    };
  run(node, operands);
  return found;
}

function leafOf(region: Graph, node: Node, inputs: Tensors): HostTensor {
  const data = node.op === "constant" ? region.constants.get(String(node.attrs["data"])) : undefined;
  const tensor = data ?? inputs[region.inputs.indexOf(node.id)];
  invariant(tensor, `[alarm] ${region.name} is given its inputs`);
  return tensor;
}

function faultAt(region: Graph, node: Node, probes: Probes): Fault | undefined {
  if (isLeaf(node)) return undefined;
  const given = node.inputs.map((input) => probes.get(valueKey(input))?.holds);
  for (const output of node.outputs.keys()) {
    const holds = probes.get(valueKey({ node: node.id, output }))?.holds;
    const isNew = given.every((own) => own === undefined) || (holds === "NaN" && !given.includes("NaN"));
    if (holds !== undefined && isNew) return faultOf(region, node, output, probes);
  }
  return undefined;
}

function probeTensor({ data }: HostTensor): Probe {
  let [low, high, nan, plus, minus] = [Infinity, -Infinity, false, false, false];
  for (const x of data)
    if (Number.isNaN(x)) nan = true;
    else if (x === Infinity) plus = true;
    else if (x === -Infinity) minus = true;
    else [low, high] = [Math.min(low, x), Math.max(high, x)];
  const range = low > high ? { low: 0, high: 0 } : { low, high };
  if (nan) return { holds: "NaN", ...range };
  if (plus) return { holds: "+infinity", ...range };
  return minus ? { holds: "-infinity", ...range } : range;
}
