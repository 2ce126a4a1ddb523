/**
 * States that fade instead of growing: what a layer keeps of all tokens before in a fixed size. They go back through
 * checkpoints (main/ir/rewind.ts).
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Shape } from "../ir/dim.ts";
import type { Value } from "../ir/graph.ts";
import { tensor } from "../ir/type.ts";
import type { Decoder } from "./decoder.ts";

/** The result of a step that reads a state and leaves another one: `build` gives both. */
export function recur(
  d: Decoder,
  name: string,
  shape: Shape,
  label: string,
  build: (before: Value) => readonly Value[],
): Value {
  let result: Value | undefined;
  d.state(name, tensor("f32", shape), { label, rewind: "checkpoint" }, (before) => {
    const [made, after] = build(before);
    if (made === undefined || after === undefined)
      throw new WorkbenchError("BUG_INVARIANT", `[${name}] expected a result and a state`);
    result = made;
    return after;
  });
  if (result === undefined) throw new WorkbenchError("BUG_INVARIANT", `[${name}] the state was not used`);
  return result;
}
