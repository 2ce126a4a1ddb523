import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { dtypeAmong, isInteger } from "../../ir/dtype.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, sameShape, staticShape, tensor } from "../../ir/type.ts";
import type { TensorType } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, axisWalk, boundShape, indexWithin } from "../families/host.ts";
import { integers, normal, sample, scalarInput, values, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";
import { mlxScatters } from "../families/scatter.ts";

export interface ScatterAddAttrs {
  /** Axis of the result that the indices name; the axes of the indices stand there in the updates. */
  readonly axis: number;
  /** Size of that axis. */
  readonly size: Dim;
}

const resultShape = (
  updates: TensorType["shape"],
  indices: TensorType["shape"],
  { axis, size }: ScatterAddAttrs,
): TensorType["shape"] => [...updates.slice(0, axis), size, ...updates.slice(axis + indices.length)];

export const scatter_add: Op<"scatter_add", ScatterAddAttrs, 2> = defineOp({
  name: "scatter_add",
  summary: "Starts from zeros and adds each update at the position its index names: the transpose of gather.",
  arity: 2,
  operands: ["updates", "indices"],
  outputs: "one",
  attributes: { axis: attr.int(0), size: attr.dim() },
  infer: ([updates, indices], attrs) => {
    const { axis } = attrs;
    if (!isInteger(indices.dtype))
      throw new WorkbenchError("IR_TYPE", `[scatter_add] indices: got ${formatType(indices)}, expected i32`);
    // A scalar index has no axes of its own: its slice of the updates is empty wherever it begins.
    const isInside = axis + indices.shape.length <= updates.shape.length;
    if (!isInside || !sameShape(updates.shape.slice(axis, axis + indices.shape.length), indices.shape))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[scatter_add] updates ${formatType(updates)} do not hold the axes of ${formatType(indices)} at axis ${axis}`,
      );
    return tensor(
      dtypeAmong("numbers", updates.dtype, "scatter_add"),
      resultShape(updates.shape, indices.shape, attrs),
    );
  },
  reference: ([updates, indices], { axis }, [type]) => {
    const shape = boundShape(type, "scatter_add");
    const { outer, size, inner } = axisWalk(shape, normalizeAxis(axis, shape.length, "scatter_add"));
    const out = new Float64Array(sizeOf(shape));
    let from = 0;
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < indices.data.length; i++, from += inner) {
        const to = (o * size + indexWithin(at(indices.data, i), size, "scatter_add")) * inner;
        for (let k = 0; k < inner; k++) out[to + k] = at(out, to + k) + at(updates.data, from + k);
      }
    return hostTensor(updates.dtype, shape, out);
  },
  oracle: {
    numpy: lines("out = np.zeros(s, x0.dtype)", 'np.add.at(out, (slice(None),) * a["axis"] + (x1,), x0)', "out"),
  },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [, indices], attrs: { axis } }) => [g.gather([ct, indices], { axis }), undefined],
  },
  batching: eachItem("scatter_add"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("scatter_add", { takes: [NUMBERS, ["i32"]], params: ({ axis }) => ({ axis }) }),
    // MIL's scatter takes a list of indices: those of more axes, or of none, are laid in one row, the updates likewise.
    coreml: milNative((e, [updates, indices], { axis }, node) => {
      const [type] = node.outputs;
      const shape = type ? staticShape(type, "scatter_add") : [];
      const data = e.constant(e.dtypeOf(type?.dtype ?? "f32"), shape, new Float64Array(sizeOf(shape)));
      const sizes = e.sizes(indices, "scatter_add");
      const count = sizeOf(sizes);
      const rows = sizes.length === 1 ? updates : e.op("reshape", { x: updates, shape: shape.with(axis, count) });
      const list = sizes.length === 1 ? indices : e.op("reshape", { x: indices, shape: [count] });
      return e.op("scatter", { data, indices: list, updates: rows, axis, mode: "add", validate_indices: false });
    }, wrapsAsInt32),
    mlx: {
      kind: "native",
      emit: (e, [updates, indices], { axis, size }, node) =>
        e.call("scatter_add", [updates, indices], node.outputs, { axis, checked: e.checks(indices, size) }),
      when: mlxScatters,
    },
  },
  samples: withDoubles([
    sample("rows, repeated index", [normal(1, [4, 3]), integers(2, [4], 0, 2)], { axis: 0, size: 5 }),
    sample(
      "symbolic number of updates",
      [normal(3, ["T", 3]), integers(4, ["T"], 0, 4)],
      { axis: 0, size: 5 },
      { bindings: { T: 3 } },
    ),
    sample("middle axis, matrix of indices", [normal(5, [2, 2, 2, 3]), integers(6, [2, 2], 0, 4)], {
      axis: 1,
      size: 5,
    }),
    sample("one index, last axis", [normal(11, [2, 3]), scalarInput(1)], { axis: 2, size: 4 }),
    sample(
      "symbolic size",
      [normal(7, [3, 5]), integers(8, [3], 0, 1)],
      { axis: 0, size: "T" },
      { bindings: { T: 2 } },
    ),
    sample("bytes that wrap", [values([100, 127, -128, -1, 3, 4], [3, 2], "i8"), values([1, 0, 1], [3], "i32")], {
      axis: 0,
      size: 3,
    }),
    sample(
      "updates in float64",
      [{ type: tensor("f64", [4, 3]), fill: { kind: "normal", seed: 11 } }, integers(12, [4], 0, 2)],
      { axis: 0, size: 3 },
    ),
    sample("long whole numbers", [integers(9, [4, 3], -9, 9, "i64"), integers(10, [4], 0, 2)], { axis: 0, size: 3 }),
  ]),
});
