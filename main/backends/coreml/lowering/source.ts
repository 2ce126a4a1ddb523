/** What lowering starts from: a graph per function, and the rules of the op table that the compiler holds. */
import type { AttrRecord } from "../../../ir/attributes.ts";
import type { Graph } from "../../../ir/graph.ts";
import type { CoremlRule } from "../emitter.ts";
import type { MilValue } from "../mil/types.ts";

/** The native Core ML rule of an op. */
export type RuleOf = (op: string) => CoremlRule<readonly MilValue[], AttrRecord> | undefined;

export interface FunctionSource {
  readonly name: string;
  readonly graph: Graph;
  /** One of several parts of a step: its caches go in and out of every call, because a Core ML state is one function's. */
  readonly isPart?: boolean;
}
