/**
 * Order of a function's operators: index work first. Masks, positions and angles follow from integer inputs alone and run
 * on the CPU; made before anything else, they cost one hand-over instead of one in the middle of the program.
 */
import type { MilNamed, MilOperation } from "./types.ts";

/** Reads a table of the model, so what it gives is no longer index work. */
const isLookup = (op: MilOperation): boolean => op.type.startsWith("gather");

/** A stable reordering: operators that follow from integer inputs and constants alone, then the rest. */
export function indexWorkFirst(
  inputs: readonly MilNamed[],
  operations: readonly MilOperation[],
): readonly MilOperation[] {
  const indexValues = new Set(
    inputs.filter((i) => i.type.kind === "tensor" && i.type.dtype === "int32").map((i) => i.name),
  );
  const constants = new Map<string, number>();
  const early = new Uint8Array(operations.length);
  operations.forEach((op, at) => {
    const [output] = op.outputs;
    if (output !== undefined && (op.type === "const" || op.type.startsWith("constexpr_"))) {
      constants.set(output.name, at);
      return;
    }
    if (output === undefined || isLookup(op) || op.type === "read_state" || op.type === "identity") return;
    const operands = op.inputs.flatMap(([, bindings]) => bindings.flatMap((b) => (b.kind === "name" ? [b.name] : [])));
    const computed = operands.filter((name) => !constants.has(name));
    if (computed.length === 0 || !computed.every((name) => indexValues.has(name))) return;
    early[at] = 1;
    for (const name of operands) early[constants.get(name) ?? at] = 1;
    for (const o of op.outputs) indexValues.add(o.name);
  });
  if (!early.includes(1)) return operations;
  return [...operations.filter((_, at) => early[at] === 1), ...operations.filter((_, at) => early[at] !== 1)];
}
