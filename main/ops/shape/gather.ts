import { milNative, milPlain } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { isInteger, isPacked } from "../../ir/dtype.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, tensor } from "../../ir/type.ts";
import { ofEachPart } from "../complexParts.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { axisParam, rankOf, shiftAxis } from "../families/axes.ts";
import { runEach } from "../families/batching.ts";
import { MOVABLE, WEIGHTS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, axisWalk, indexWithin } from "../families/host.ts";
import { integers, normal, sample, weight, withDoubles } from "../families/samples.ts";

export interface GatherAttrs {
  readonly axis: number;
}

export const gather: Op<"gather", GatherAttrs, 2> = defineOp({
  name: "gather",
  summary: "Picks positions of one axis by index. Rows of a packed table come out as f32.",
  arity: 2,
  operands: ["table", "indices"],
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: ([table, indices], { axis }) => {
    const along = normalizeAxis(axis, table.shape.length, "gather");
    if (!isInteger(indices.dtype))
      throw new WorkbenchError("IR_TYPE", `[gather] indices: got ${formatType(indices)}, expected i32`);
    if (isPacked(table.dtype) && (along !== 0 || table.shape.length < 2))
      throw new WorkbenchError(
        "IR_TYPE",
        `[gather] a packed table gives whole rows or matrices: got axis ${along} of ${formatType(table)}, expected axis 0`,
        { hint: "Insert dequantize first." },
      );
    const shape = [...table.shape.slice(0, along), ...indices.shape, ...table.shape.slice(along + 1)];
    return tensor(isPacked(table.dtype) ? "f32" : table.dtype, shape);
  },
  reference: ([table, indices], { axis }) => {
    const along = normalizeAxis(axis, table.shape.length, "gather");
    const { outer, size, inner } = axisWalk(table.shape, along);
    const shape = [...table.shape.slice(0, along), ...indices.shape, ...table.shape.slice(along + 1)];
    const out = new Float64Array(sizeOf(shape));
    let to = 0;
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < indices.data.length; i++, to += inner) {
        const from = (o * size + indexWithin(at(indices.data, i), size, "gather")) * inner;
        out.set(table.data.subarray(from, from + inner), to);
      }
    return hostTensor(table.dtype, shape, out);
  },
  oracle: { numpy: 'np.take(x0, x1, a["axis"])' },
  // Each row's cotangent is added where the row came from.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [table, indices], attrs: { axis } }) => {
      const { dtype, shape } = g.typeOf(table);
      if (isPacked(dtype)) return [undefined, undefined];
      const along = normalizeAxis(axis, shape.length, "gather");
      const size = shape[along] ?? 0;
      return [ofEachPart(g, ct, (part) => g.scatter_add([part, indices], { axis: along, size })), undefined];
    },
  },
  batching: {
    kind: "rule",
    rule: (context) => {
      const { g, inputs, batched, attrs, node } = context;
      const rank = rankOf(node);
      const along = normalizeAxis(attrs.axis, rank, "gather");
      if (batched[0] === true && batched[1] !== true) return g.gather(inputs, { axis: shiftAxis(along, rank) });
      if (batched[0] === true || along !== 0) return runEach("gather", context);
      return g.gather(inputs, { axis: 0 });
    },
  },
  traits: ["pure", "movement"],
  moves: "picks",
  backends: {
    cpu: cpuKernel("gather", {
      takes: [[...MOVABLE, ...WEIGHTS], ["i32"]],
      params: axisParam("gather"),
    }),
    coreml: milNative((e, [x, indices], { axis }, node) => {
      const [table] = node.inputs;
      const rows = table?.shape.length === 2 && normalizeAxis(axis, 2, "gather") === 0;
      if (rows && table.dtype !== "bool") return e.rows(x, indices);
      // MIL's gather takes numbers alone: truth values go through it as int32.
      const plain = table?.dtype === "bool" ? e.cast(milPlain(e, x), "int32") : milPlain(e, x);
      const picked = e.op("gather", { x: plain, indices, axis, batch_dims: 0, validate_indices: false });
      return table?.dtype === "bool" ? e.cast(picked, "bool") : picked;
    }),
    mlx: {
      kind: "native",
      emit: (e, [table, indices], { axis }, node) => {
        const along = normalizeAxis(axis, table.type.shape.length, "gather");
        const checked = e.checks(indices, table.type.shape[along] ?? 0);
        return e.call("take", [table, indices], node.outputs, { axis: along, checked });
      },
    },
  },
  samples: withDoubles([
    sample("rows, repeated index", [normal(1, [5, 3]), integers(2, [4], 0, 4)], { axis: 0 }),
    sample("middle axis, matrix of indices", [normal(3, [2, 5, 3]), integers(4, [2, 2], 0, 4)], { axis: 1 }),
    sample("symbolic indices", [normal(5, [7, 3]), integers(6, ["T"], 0, 6)], { axis: 0 }, { bindings: { T: 3 } }),
    sample("last axis, one index", [normal(7, [3, 5]), integers(8, [], 0, 4)], { axis: -1 }),
    sample("truth values", [integers(15, [5], 0, 1, "bool"), integers(16, [3], 0, 4)], { axis: 0 }),
    sample("rows of truth values", [integers(17, [4, 3], 0, 1, "bool"), integers(18, [2], 0, 3)], { axis: 0 }),
    sample("packed experts", [weight(13, [4, 3, 32], "q8_0"), integers(14, [2], 0, 3)], { axis: 0 }),
    sample("packed rows", [weight(9, [6, 32], "q8_0"), integers(10, [3], 0, 5)], { axis: 0 }),
    sample("half table", [weight(11, [6, 5], "f16"), integers(12, [3], 0, 5)], { axis: 0 }, { differentiable: false }),
  ]),
});
