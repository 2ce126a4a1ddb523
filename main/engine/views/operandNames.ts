/** What the operands and results of a node are called: by its op, or by number. */
import { opOf } from "../../ops/index.ts";

export const inputLabel = (op: string, index: number): string => opOf(op)?.operands[index] ?? `operand ${index + 1}`;

export const outputLabel = (op: string, index: number, count: number): string =>
  opOf(op)?.results[index] ?? (count === 1 ? "result" : `result ${index + 1}`);
