/** What the NaN alarm tells: an operation that made no number of numbers, where it is, and what to do. */
import { isGradientLabel } from "../autodiff/vjp.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Node, Origin } from "../ir/graph.ts";
import { valueKey } from "../ir/graph.ts";
import { nodeName, scopeOf } from "../ir/nodePlace.ts";
import { inputLabels } from "../ops/operandNames.ts";
import { adviceOn, faultMessage } from "./faultAdvice.ts";
import type { OddNumber, Probe } from "./probes.ts";

export interface FaultOperand extends Probe {
  /** What the operation calls it. */
  readonly name: string;
  readonly type: string;
}

export interface FaultFacts {
  /** `input`, `param` or `constant` where what was given holds it already. */
  readonly op: string;
  /** What it is called in the model, and the part of the model that it lies in. */
  readonly name: string;
  readonly place: string;
  /** Operations of the model that it stands for. */
  readonly origins: readonly Origin[];
  /** It is no operation of the model, but of its gradient. */
  readonly isGradient: boolean;
  readonly kind: OddNumber;
  /** Float type of the result. */
  readonly dtype: string;
  /** Float operands. */
  readonly inputs: readonly FaultOperand[];
}

export interface Fault extends FaultFacts {
  /** In one sentence what happened, and in another what to do. */
  readonly message: string;
  readonly advice: string;
}

/** By `valueKey`, of the float values of a graph. */
export type Probes = ReadonlyMap<string, Probe>;

export const worded = (found: FaultFacts): Fault => ({
  ...found,
  message: faultMessage(found),
  advice: adviceOn(found),
});

export function faultOf(graph: Graph, node: Node, output: number, probes: Probes): Fault {
  const type = node.outputs[output];
  const probe = probes.get(valueKey({ node: node.id, output }));
  invariant(type && probe?.holds !== undefined, `[alarm] ${node.op} holds no number`);
  const names = inputLabels(node);
  const inputs = node.inputs.flatMap((input, i): readonly FaultOperand[] => {
    const own = graph.nodes[input.node]?.outputs[input.output];
    const seen = probes.get(valueKey(input));
    return own === undefined || seen === undefined ? [] : [{ name: names[i] ?? "", type: own.dtype, ...seen }];
  });
  return worded({
    op: node.op,
    name: nodeName(node),
    place: scopeOf(node).join("/"),
    origins: node.origins,
    isGradient: node.origins.some(({ label }) => isGradientLabel(label)),
    kind: probe.holds,
    dtype: type.dtype,
    inputs,
  });
}

/** The gradient graph takes weights as inputs; for the reader they are parameters. */
export function asWeight(fault: Fault): Fault {
  return worded({ ...fault, op: "param" });
}
