/** What the operands and results of a node are called: by its op, or by number. */
import type { Node } from "../ir/graph.ts";
import { opOf } from "./index.ts";

export function inputLabels({ op, attrs, inputs }: Pick<Node, "op" | "attrs" | "inputs">): readonly string[] {
  const known = opOf(op);
  const names = known?.operandsBy?.(attrs) ?? known?.operands ?? [];
  return inputs.map((_, i) => names[i] ?? `operand ${i + 1}`);
}

export const outputLabel = (op: string, index: number, count: number): string =>
  opOf(op)?.results[index] ?? (count === 1 ? "result" : `result ${index + 1}`);
