// How much memory steps of a training take, beside what they have to hold: weights, moments, gradients, and the activations that
// the gradient reads.
import { readFileSync, writeFileSync } from "node:fs";
import { gradientParts } from "../../main/autodiff/vjp.ts";
import { valueBytes } from "../../main/compiler/cost/movedBytes.ts";
import type { Graph, Node } from "../../main/ir/graph.ts";
import { isLeaf } from "../../main/ir/graph.ts";
import { opOf } from "../../main/ops/index.ts";
import { elementCount } from "../../main/ir/type.ts";

interface Needed {
  readonly parameters: number;
  readonly moments: number;
  readonly gradients: number;
  readonly activations: number;
}

const isView = (node: Node): boolean => opOf(node.op)?.traits.includes("view") === true;

/** Bytes in f32. `moments`: of the optimiser, for each weight. */
export function neededBytes(forward: Graph, trainable: readonly string[], moments: number): Needed {
  const wrt = [...trainable];
  const weights = forward.nodes.filter(({ attrs }) => wrt.includes(String(attrs["name"])));
  const parameters = weights.reduce((sum, { outputs: [type] }) => sum + (type ? 4 * Number(elementCount(type)) : 0), 0);
  const [loss] = forward.outputs;
  if (loss === undefined) throw new Error("a loss");
  const { graph, forward: end } = gradientParts(forward, { of: [loss.name], wrt });
  const kept = new Set<number>();
  for (const node of graph.nodes.slice(end))
    for (const { node: from } of node.inputs) {
      let at = graph.nodes[from];
      // A view is its operand's memory.
      while (at !== undefined && isView(at)) at = graph.nodes[at.inputs[0]?.node ?? -1];
      if (at !== undefined && at.id < end && !isLeaf(at)) kept.add(at.id);
    }
  const activations = [...kept].reduce(
    (sum, id) => sum + (graph.nodes[id]?.outputs ?? []).reduce((own, type) => own + valueBytes(type, {}), 0),
    0,
  );
  return { parameters, moments: moments * parameters, gradients: parameters, activations };
}

function statusOf(name: string): number {
  const [, kilobytes] =
    new RegExp(`^${name}:\\s+(\\d+) kB`, "mu").exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return 1024 * Number(kilobytes);
}

/** Bytes that are resident now, after a collection where `--expose-gc` is given. */
export function residentNow(): number {
  (globalThis as { readonly gc?: () => void }).gc?.();
  return statusOf("VmRSS");
}

/** Most resident bytes while it runs, by Linux's mark, which is set back first. */
export async function mostResident(run: () => Promise<void>): Promise<number> {
  residentNow();
  writeFileSync("/proc/self/clear_refs", "5");
  await run();
  return statusOf("VmHWM");
}
