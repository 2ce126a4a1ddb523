import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { mulDims, productOf } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Decomposition, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { at, boundShape } from "../families/host.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";

/** Every place twice along the row, then every row twice. */
const parts: Decomposition<NoAttrs, 1> = (g, [x]) => {
  const [batch = 1, channels = 1, height = 1, width = 1] = g.typeOf(x).shape;
  const [rows, wide] = [productOf([batch, channels, height]), mulDims(width, 2)];
  const places = g.reshape([x], { shape: [rows, width, 1] });
  const lines = g.reshape([g.expand([places], { shape: [rows, width, 2] })], { shape: [rows, 1, wide] });
  const twice = g.expand([lines], { shape: [rows, 2, wide] });
  return g.reshape([twice], { shape: [batch, channels, mulDims(height, 2), wide] });
};

export const resize_nearest2x: Op<"resize_nearest2x", NoAttrs, 1> = defineOp({
  name: "resize_nearest2x",
  summary: "An image [batch, channels, height, width] of twice the size: every place becomes two by two.",
  arity: 1,
  operands: ["image"],
  outputs: "one",
  attributes: {},
  infer: ([x]) => {
    const dtype = plainDType(x.dtype, "resize_nearest2x");
    const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
    if (x.shape.length !== 4 || !isFloat(dtype))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[resize_nearest2x] image: got ${formatType(x)}, expected floats [batch, channels, height, width]`,
      );
    return tensor(dtype, [batch, channels, mulDims(height, 2), mulDims(width, 2)]);
  },
  reference: ([x], _attrs, [type]) => {
    const shape = boundShape(type, "resize_nearest2x");
    const [height, width] = [at(shape, 2), at(shape, 3)];
    const out = Float64Array.from({ length: x.data.length * 4 }, (_, i) => {
      const [plane, row, column] = [Math.floor(i / (height * width)), Math.floor(i / width) % height, i % width];
      return at(x.data, (plane * (height / 2) + Math.floor(row / 2)) * (width / 2) + Math.floor(column / 2));
    });
    return hostTensor(x.dtype, shape, out);
  },
  oracle: { jax: 'jax.image.resize(x0, s, "nearest")' },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure"],
  backends: {
    ...everywhere(parts),
    coreml: milNative((e, [x]) =>
      e.op("upsample_nearest_neighbor", { x, scale_factor_height: 2, scale_factor_width: 2 }),
    ),
  },
  samples: withDoubles([
    sample("odd sizes", [normal(1, [2, 3, 3, 5])], {}),
    sample("one place", [normal(2, [1, 2, 1, 1])], {}),
    sample("symbolic batch and height", [normal(3, ["B", 1, "T", 3])], {}, { bindings: { B: 2, T: 4 } }),
  ]),
});
