/** Sorting along one axis: equals stay in their order, NaN is larger than every number. */
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Backends, Sample } from "../defineOp.ts";
import { decomposed } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { axisParam } from "./axes.ts";
import { filled } from "./constants.ts";
import { at, forEachLine } from "./host.ts";
import { whole } from "./positions.ts";
import { integers, normal, sample, values, withDoubles } from "./samples.ts";

export interface OrderAttrs {
  readonly axis: number;
  readonly descending: boolean;
}

export const orderSchema = { axis: attr.int(), descending: attr.bool() } as const;

/** Largest first by `topk`, of the line from its end where the smallest come first; the values, or their positions. */
export const orderParts =
  (op: "sort" | "argsort") =>
  (g: OpBuilder, [x]: readonly [Value], { axis, descending }: OrderAttrs): Value => {
    const { shape } = g.typeOf(x);
    const along = normalizeAxis(axis, shape.length, op);
    const last = shape.length - 1;
    const perm = [...shape.keys()].filter((i) => i !== along).concat(along);
    const size = staticDim(shape[along] ?? 1, op);
    // Nothing to order, and topk gives one at least.
    if (size === 0) return op === "sort" ? g.reshape([x], { shape }) : filled(g, "i32", shape, 0);
    const turn = (v: Value): Value => (descending ? v : g.reverse([v], { axes: [last] }));
    const [top, where] = g.topk([turn(g.transpose([x], { perm }))], { k: size });
    const found = turn((op === "sort" ? top : where) ?? x);
    const made = op === "sort" || descending ? found : g.sub([whole(g, size - 1), found]);
    return g.transpose([made], { perm: shape.map((_, i) => perm.indexOf(i)) });
  };

/** `each(position in the order, place of the element, place in the result)`. */
export function forEachInOrder(
  x: HostTensor,
  { axis, descending }: OrderAttrs,
  each: (position: number, from: number, to: number) => void,
): void {
  const along = normalizeAxis(axis, x.shape.length, "sort");
  const sign = descending ? -1 : 1;
  forEachLine(x.shape, along, (start, stride) => {
    const value = (i: number): number => at(x.data, start + i * stride);
    const order = Array.from({ length: at(x.shape, along) }, (_, i) => i);
    order.sort((i, j) => {
      const [a, b] = [value(i), value(j)];
      const nans = Number(Number.isNaN(a)) - Number(Number.isNaN(b));
      return sign * (nans !== 0 ? nans : Number(a > b) - Number(a < b)) || i - j;
    });
    order.forEach((i, to) => each(i, start + i * stride, start + to * stride));
  });
}

const FIXED_COUNT =
  "Core ML's topk takes how many it gives as a constant of the program, so the axis has a fixed size; its argsort, which needs no count, does not say where equals and NaN go";

const hasFixedAxis =
  (op: "sort" | "argsort") =>
  ({ inputs: [x], attrs }: NodeInfo<OrderAttrs>): true | string => {
    const size = x?.shape[normalizeAxis(attrs.axis, x.shape.length, op)];
    return typeof size === "number" ? true : `the axis has the size ${String(size)}: ${FIXED_COUNT}`;
  };

export const orderBackends = (op: "sort" | "argsort"): Backends<OrderAttrs, 1> => ({
  cpu: cpuKernel(op, { takes: NUMBERS, params: (attrs, node) => ({ ...attrs, ...axisParam(op)(attrs, node) }) }),
  coreml: { ...decomposed(orderParts(op), FIXED_COUNT), when: hasFixedAxis(op) },
  mlx: mlxCall(op, { takes: "numbers", attrs: (attrs, node) => ({ ...attrs, ...axisParam(op)(attrs, node) }) }),
});

export const orderSamples: readonly Sample<OrderAttrs>[] = withDoubles([
  sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1, descending: false }),
  sample("first axis, largest first", [normal(2, [5, 3])], { axis: 0, descending: true }),
  sample("symbolic rows", [normal(3, ["T", 7])], { axis: 1, descending: false }, { bindings: { T: 3 } }),
  sample("equals", [values([2, 1, 2, 1, 3, 2])], { axis: 0, descending: false }, { differentiable: false }),
  sample(
    "equals, largest first",
    [values([2, 1, 2, 1, 3, 2])],
    { axis: 0, descending: true },
    { differentiable: false },
  ),
  sample(
    "NaN and infinities",
    [values([1, NaN, -Infinity, Infinity, NaN, 0])],
    { axis: 0, descending: false },
    {
      differentiable: false,
    },
  ),
  sample("whole numbers", [integers(5, [2, 7], -9, 9)], { axis: 1, descending: false }),
  sample("long whole numbers", [integers(6, [5], -(2 ** 40), 2 ** 40, "i64")], { axis: 0, descending: true }),
  sample("no lines", [values([], [0, 3])], { axis: 1, descending: false }),
  sample("an empty axis", [values([], [2, 0, 3])], { axis: 1, descending: false }),
]);
