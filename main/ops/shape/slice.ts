import { milNative } from "../../backends/coreml/rules.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { staticDim } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { axisBatching, rankOf } from "../families/axes.ts";
import { at, boundShape, stridedCopy } from "../families/host.ts";
import { steps } from "../families/positions.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface SliceAttrs {
  readonly axis: number;
  readonly start: Dim;
  readonly length: Dim;
  /** From one position to the next; below 0 towards the front. */
  readonly step: number;
}

const parts = (g: OpBuilder, [x]: readonly [Value], { axis, start, length, step }: SliceAttrs): Value =>
  g.gather([x, steps(g, start, length, step)], { axis });

export const slice: Op<"slice", SliceAttrs, 1> = defineOp({
  name: "slice",
  summary: "`length` positions from `start` along one axis, `step` apart.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int(), start: attr.dim(), length: attr.dim(), step: attr.int() },
  infer: ([x], { axis, start, length, step }) => {
    const along = normalizeAxis(axis, x.shape.length, "slice");
    const size = x.shape[along];
    if (step === 0) throw new WorkbenchError("IR_ATTRIBUTE", "[slice] step: got 0, expected another number");
    if (typeof start === "number" && typeof length === "number" && typeof size === "number" && length > 0) {
      const ends = [start, start + (length - 1) * step];
      if (ends.some((end) => end < 0 || end >= size))
        throw new WorkbenchError(
          "IR_SHAPE",
          `[slice] range ends outside: got ${ends.join("..")} of axis ${along} of ${formatType(x)}`,
        );
    }
    return tensor(plainDType(x.dtype, "slice"), x.shape.with(along, length));
  },
  reference: ([x], { axis, start, step }, [type]) => {
    const along = normalizeAxis(axis, x.shape.length, "slice");
    const strides = stridesOf(x.shape);
    const offset = staticDim(start, "slice") * at(strides, along);
    const shape = boundShape(type, "slice");
    return hostTensor(
      x.dtype,
      shape,
      stridedCopy(x.data, shape, strides.with(along, step * at(strides, along)), offset),
    );
  },
  oracle: { numpy: 'np.take(x0, a["start"] + a["step"] * np.arange(a["length"]), a["axis"])' },
  gradient: decomposed(parts),
  batching: axisBatching("slice"),
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("slice", {
      takes: MOVABLE,
      params: ({ axis, start, step }, node) => {
        const along = normalizeAxis(axis, rankOf(node), "slice");
        const all = Array.from({ length: rankOf(node) }, (_, i) => i);
        return { starts: all.map((i) => (i === along ? start : 0)), steps: all.map((i) => (i === along ? step : 1)) };
      },
    }),
    // Forwards, and turned where the step is below 0.
    coreml: milNative((e, [x], { axis, start, length, step }, { inputs: [from] }) => {
      const sizes = staticShape(from ?? tensor("f32", []), "slice");
      const along = normalizeAxis(axis, sizes.length, "slice");
      const [first, count] = [staticDim(start, "slice"), staticDim(length, "slice")];
      const last = first + (count - 1) * step;
      const forwards = e.op("slice_by_index", {
        x,
        begin: sizes.map((_, i) => (i === along ? Math.min(first, last) : 0)),
        end: sizes.map((size, i) => (i === along ? Math.max(first, last) + 1 : size)),
        stride: sizes.map((_, i) => (i === along ? Math.abs(step) : 1)),
      });
      return step > 0 ? forwards : e.op("reverse", { x: forwards, axes: [along] });
    }),
    mlx: mlxCall("slice", {
      takes: "any",
      attrs: ({ axis, start, step }, node) => ({ axis: normalizeAxis(axis, rankOf(node), "slice"), start, step }),
    }),
  },
  samples: withDoubles([
    sample("every second, odd sizes", [normal(1, [3, 7, 2])], { axis: 1, start: 1, length: 3, step: 2 }),
    sample("backwards to the front", [normal(2, [3, 5])], { axis: -1, start: 4, length: 3, step: -2 }),
    sample("one backwards", [integers(3, [6], 0, 1, "bool")], { axis: 0, start: 5, length: 6, step: -1 }),
    sample(
      "symbolic start and length",
      [normal(4, ["3*T", 3])],
      { axis: 0, start: "T", length: "T", step: 2 },
      { bindings: { T: 2 } },
    ),
    sample("whole numbers", [integers(5, [9], -9, 9)], { axis: 0, start: 8, length: 1, step: 4 }),
    sample("nothing", [values([1, 2, 3])], { axis: 0, start: 0, length: 0, step: 2 }),
  ]),
});
