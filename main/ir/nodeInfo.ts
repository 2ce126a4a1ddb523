/** What a rule may ask of the node that it is for: of an op's gradient and batching, and of each backend's lowering. */
import type { Graph } from "./graph.ts";
import type { TensorType } from "./type.ts";

export interface NodeInfo<Attrs> {
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
  readonly attrs: Attrs;
  /** Sub-graphs of control flow. */
  readonly regions: readonly Graph[];
}
