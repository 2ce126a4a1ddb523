/** Where the inspector leads to, and what other features show in it. */
import type { ReactNode } from "react";
import type { NodeView } from "../../../main/contract/views/graph.ts";
import type { GraphModel } from "../../graph/graphModel.ts";

export interface InspectorLinks {
  readonly onNode: (node: number) => void;
  readonly onMil: (node: number) => void;
  readonly onPass: (name: string) => void;
  /** Whether a pass of that name stands in the pipeline. */
  readonly isPass: (name: string) => boolean;
  readonly onTensor: (name: string) => void;
  /** To the operation as the file builds it. */
  readonly onSource: (source: number) => void;
  /** The graph that is shown, whatever its stage. */
  readonly model: GraphModel | null;
  readonly noteOf: (group: number) => string;
  /** The blocks that a selected group stands for: those of its stack, or itself. */
  readonly stackOf: (group: number) => readonly number[];
  readonly onGroup: (group: number) => void;
  /** Cards of the routing view: plan, observation and MLX for an op or a segment. */
  readonly routeOfNode: (node: NodeView) => ReactNode;
  readonly routeOfSegment: (index: number) => ReactNode;
  /** Shown where nothing is selected. */
  readonly advice: ReactNode;
}
