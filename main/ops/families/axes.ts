/**
 * Ops along one axis: the axis may count from the end, kernels and calls take it from 0, a batch
 * moves it on by one.
 */
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Batching } from "../defineOp.ts";

type AxisAttrs = Readonly<Record<"axis", number>>;

/** Of the first operand. */
export const rankOf = ({ inputs: [x] }: Pick<NodeInfo<unknown>, "inputs">): number => x?.shape.length ?? 0;

/** The axis from 0, as kernels and calls take it. */
export const axisParam =
  (op: string) =>
  <Attrs extends AxisAttrs>({ axis }: Attrs, node: NodeInfo<Attrs>): AxisAttrs => ({
    axis: normalizeAxis(axis, rankOf(node), op),
  });

/** An axis of an operand of that rank, once the batch axis is in front. */
export const shiftAxis = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis) + 1;

/** The same op of one operand, along the axis where it then is. */
export const axisBatching = <Attrs extends AxisAttrs>(op: string): Batching<Attrs, 1> => ({
  kind: "rule",
  rule: ({ g, inputs, attrs, node }) =>
    g.graph.apply(op, inputs, { ...attrs, axis: shiftAxis(attrs.axis, rankOf(node)) }),
});
