import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { addDims, staticDim } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { axisBatching, axisParam } from "../families/axes.ts";
import { filledLike } from "../families/constants.ts";
import { at, boundShape, stridedCopy } from "../families/host.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface SplitAttrs {
  readonly axis: number;
  readonly sizes: Shape;
}

function pieces(g: OpBuilder, [x]: readonly [Value], { axis, sizes }: SplitAttrs): readonly Value[] {
  let start: Dim = 0;
  return sizes.map((length) => {
    const piece = g.narrow([x], { axis, start, length });
    start = addDims(start, length);
    return piece;
  });
}

export const split: Op<"split", SplitAttrs, 1, "many"> = defineOp({
  name: "split",
  summary: "Cuts one axis into runs of the given sizes: one output each.",
  arity: 1,
  operands: ["x"],
  outputs: "many",
  attributes: { axis: attr.int(), sizes: attr.dims() },
  infer: ([x], { axis, sizes }) => {
    const along = normalizeAxis(axis, x.shape.length, "split");
    const total = sizes.reduce<Dim>(addDims, 0);
    if (total !== x.shape[along] || sizes.length === 0)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[split] sizes: got ${sizes.join(" + ")} = ${total}, expected the size of axis ${along} of ${formatType(x)}`,
      );
    return sizes.map((size) =>
      tensor(
        plainDType(x.dtype, "split"),
        x.shape.map((dim, i) => (i === along ? size : dim)),
      ),
    );
  },
  reference: ([x], { axis }, types) => {
    const strides = stridesOf(x.shape);
    const along = normalizeAxis(axis, x.shape.length, "split");
    let offset = 0;
    return types.map((type): HostTensor => {
      const shape = boundShape(type, "split");
      const piece = hostTensor(x.dtype, shape, stridedCopy(x.data, shape, strides, offset));
      offset += at(shape, along) * at(strides, along);
      return piece;
    });
  },
  oracle: { numpy: 'tuple(np.split(x0, np.cumsum(a["sizes"])[:-1], a["axis"]))' },
  gradient: {
    kind: "vjp",
    rule: ({ g, outputs, cotangents, attrs: { axis } }) => [
      g.concat(
        outputs.map((output, i) => cotangents[i] ?? filledLike(g, output, 0)),
        { axis },
      ),
    ],
  },
  batching: axisBatching("split"),
  traits: ["pure", "movement"],
  backends: {
    cpu: decomposed(pieces),
    coreml: milNative((e, [x], { axis, sizes }) =>
      e.ops("split", { x, axis, split_sizes: sizes.map((size) => staticDim(size, "split")) }, sizes.length),
    ),
    mlx: mlxCall("split", {
      takes: "any",
      attrs: axisParam("split"),
    }),
  },
  samples: withDoubles([
    sample("three unequal parts", [normal(1, [3, 7])], { axis: 1, sizes: [4, 1, 2] }),
    sample("symbolic other axis", [normal(2, ["T", 6])], { axis: -1, sizes: [3, 3] }, { bindings: { T: 3 } }),
    sample("symbolic sizes", [normal(3, ["2*T", 2])], { axis: 0, sizes: ["T", "T"] }, { bindings: { T: 2 } }),
  ]),
});
