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
  const early = new Set<MilOperation>();
  operations.forEach((op, at) => {
    const [output] = op.outputs;
    if (output !== undefined && (op.type === "const" || op.type.startsWith("constexpr_"))) {
      constants.set(output.name, at);
      return;
    }
    // Blocks read more than their operator names.
    if (
      output === undefined ||
      op.blocks !== undefined ||
      isLookup(op) ||
      op.type === "read_state" ||
      op.type === "identity"
    )
      return;
    if (!isIndexWork(op, indexValues, constants)) return;
    early.add(op);
    for (const [, bindings] of op.inputs)
      for (const b of bindings) {
        const constant = b.kind === "name" ? operations[constants.get(b.name) ?? -1] : undefined;
        if (constant !== undefined) early.add(constant);
      }
    for (const o of op.outputs) indexValues.add(o.name);
  });
  if (early.size === 0) return operations;
  return [...operations.filter((op) => early.has(op)), ...operations.filter((op) => !early.has(op))];
}

/** Whether all that is computed of its operands is index work, and something is. */
function isIndexWork(
  op: MilOperation,
  indexValues: ReadonlySet<string>,
  constants: ReadonlyMap<string, number>,
): boolean {
  let found = false;
  for (const [, bindings] of op.inputs)
    for (const b of bindings) {
      if (b.kind !== "name") continue;
      if (indexValues.has(b.name)) found = true;
      else if (!constants.has(b.name)) return false;
    }
  return found;
}
