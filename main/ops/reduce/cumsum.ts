import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op, Sample } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { axisBatching, axisParam } from "../families/axes.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, forEachLine } from "../families/host.ts";
import { integers, normal, sample, withDoubles } from "../families/samples.ts";
import { inferUnary } from "../families/unary.ts";
import { lines } from "../families/oracle.ts";

export interface CumsumAttrs {
  readonly axis: number;
  /** The sum of what comes before, without the element itself. */
  readonly exclusive: boolean;
  /** From the end. */
  readonly reverse: boolean;
}

const axisFromStart = axisParam("cumsum");

export const cumsum: Op<"cumsum", CumsumAttrs, 1> = defineOp({
  name: "cumsum",
  summary: "Running sum along one axis.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int(), exclusive: attr.bool(), reverse: attr.bool() },
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "cumsum");
    return inferUnary("cumsum", "numbers")([x]);
  },
  reference: ([x], { axis, exclusive, reverse }) => {
    const along = normalizeAxis(axis, x.shape.length, "cumsum");
    const size = at(x.shape, along);
    const out = new Float64Array(x.data.length);
    forEachLine(x.shape, along, (start, stride) => {
      let sum = 0;
      for (let step = 0; step < size; step++) {
        const i = start + (reverse ? size - 1 - step : step) * stride;
        const next = sum + at(x.data, i);
        out[i] = exclusive ? sum : next;
        sum = next;
      }
    });
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    numpy: lines(
      `
def run(x):
    y = np.cumsum(x, a["axis"], dtype=x.dtype)
    return y - x if a["exclusive"] else y
`.trim(),
      `np.flip(run(np.flip(x0, a["axis"])), a["axis"]) if a["reverse"] else run(x0)`,
    ),
  },
  // Each element reaches every later sum: the same from the other end.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, attrs }) => [g.cumsum([ct], { ...attrs, reverse: !attrs.reverse })],
  },
  batching: axisBatching("cumsum"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("cumsum", {
      takes: NUMBERS,
      params: (attrs, node) => ({ ...attrs, ...axisFromStart(attrs, node) }),
    }),
    coreml: milNative(
      (e, [x], { axis, exclusive, reverse }) => e.op("cumsum", { x, axis, exclusive, reverse }),
      wrapsAsInt32,
    ),
    mlx: mlxCall("cumsum", {
      takes: "numbers",
      attrs: (attrs, node) => ({ ...attrs, ...axisFromStart(attrs, node) }),
    }),
  },
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1, exclusive: false, reverse: false }),
    sample("first axis, exclusive", [normal(2, [5, 3])], { axis: 0, exclusive: true, reverse: false }),
    sample(
      "reverse, symbolic",
      [normal(3, ["T", 3])],
      { axis: 0, exclusive: false, reverse: true },
      { bindings: { T: 4 } },
    ),
    sample("reverse and exclusive", [normal(4, [2, 3, 2])], { axis: 1, exclusive: true, reverse: true }),
    sample("whole numbers", [integers(5, [7], -9, 9)], { axis: 0, exclusive: false, reverse: false }),
    ...(["i8", "u8", "i16"] as const).map((dtype, i): Sample<CumsumAttrs> =>
      sample(
        `whole numbers that wrap, ${dtype}`,
        [integers(6 + i, [9], dtype === "u8" ? 0 : 90, dtype === "i16" ? 32767 : 127, dtype)],
        { axis: 0, exclusive: false, reverse: false },
      ),
    ),
    sample("long whole numbers", [integers(9, [5], -(2 ** 40), 2 ** 40, "i64")], {
      axis: 0,
      exclusive: true,
      reverse: true,
    }),
  ]),
});
