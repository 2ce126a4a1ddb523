/** `argmax` and `argmin`: positions of extremes, the first of equals. */
import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { axisBatching, axisParam } from "./axes.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, boundShape, forEachLine } from "./host.ts";
import { integers, normal, sample, values, withDoubles } from "./samples.ts";

export interface ExtremeAttrs {
  readonly axis: number;
}

type ExtremeName = "argmax" | "argmin";

export function extremePosition<N extends ExtremeName>(
  name: N,
  which: string,
  beats: (a: number, b: number) => boolean,
): Op<N, ExtremeAttrs, 1> {
  const axisOf = axisParam(name);
  return defineOp<N, ExtremeAttrs, 1, "one">({
    name,
    summary: `Position of the ${which} element along one axis, the first of equals; of the first NaN, where there is one.`,
    arity: 1,
    operands: ["x"],
    outputs: "one",
    results: ["position"],
    attributes: { axis: attr.int() },
    infer: ([x], { axis }) => {
      dtypeAmong("numbers", x.dtype, name);
      const along = normalizeAxis(axis, x.shape.length, name);
      if (x.shape[along] === 0)
        throw new WorkbenchError(
          "IR_SHAPE",
          `[${name}] axis ${axis} of ${formatType(x)} is empty: expected an element`,
        );
      return tensor(
        "i32",
        x.shape.filter((_, i) => i !== along),
      );
    },
    reference: ([x], { axis }, [type]) => {
      const shape = boundShape(type, name);
      const along = normalizeAxis(axis, x.shape.length, name);
      const size = at(x.shape, along);
      const found: number[] = [];
      forEachLine(x.shape, along, (start, stride) => {
        let best = 0;
        for (let i = 0; i < size && !Number.isNaN(at(x.data, start + best * stride)); i++) {
          const value = at(x.data, start + i * stride);
          if (Number.isNaN(value) || beats(value, at(x.data, start + best * stride))) best = i;
        }
        found.push(best);
      });
      return hostTensor("i32", shape, found);
    },
    oracle: { numpy: `np.${name}(x0, a["axis"]).astype(np.int32)` },
    gradient: nondifferentiable("the result is a position: its derivative is zero wherever it exists"),
    batching: axisBatching(name),
    traits: ["pure", "reduction"],
    backends: {
      cpu: cpuKernel<ExtremeAttrs>(name, { takes: NUMBERS, params: axisOf }),
      coreml: milNative((e, [x], { axis }) => e.op(`reduce_${name}`, { x, axis, keep_dims: false })),
      mlx: mlxCall(name, { takes: "numbers", attrs: axisOf }),
    },
    samples: withDoubles([
      sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1 }),
      sample("first axis", [normal(2, [5, 3])], { axis: 0 }),
      sample("symbolic rows", [normal(3, ["T", 7])], { axis: 1 }, { bindings: { T: 3 } }),
      sample("ties: the first", [values([2, 1, 4, 2, 4, 1, 4])], { axis: 0 }),
      sample("NaN: the first", [values([1, NaN, Infinity, NaN, NaN, 3, -Infinity, 2, 5, 7, -Infinity, 6], [3, 4])], {
        axis: 1,
      }),
      sample("no lines", [values([], [0, 3])], { axis: 1 }),
      sample("whole numbers", [integers(4, [2, 9], -99, 99)], { axis: 1 }),
      sample("bytes with a sign", [integers(5, [2, 9], -128, 127, "i8")], { axis: 1 }),
      sample("long whole numbers", [integers(6, [9], -(2 ** 40), 2 ** 40, "i64")], { axis: 0 }),
    ]),
  });
}
