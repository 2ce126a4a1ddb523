import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { addDims, mulDims } from "../../ir/dim.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { ConvAttrs } from "../families/convolution.ts";
import {
  CONV_ATTRS,
  LAYOUT_LETTERS,
  batchConvolution,
  checkConvolution,
  engineGeometry,
  forEachProduct,
  perGroup,
  weightCotangent,
} from "../families/convolution.ts";
import { milTransposedConvolution } from "../../backends/coreml/windowRules.ts";
import { shapeOf } from "../families/batching.ts";
import { inOneType } from "../../backends/cpu/rules.ts";
import { at, boundShape } from "../families/host.ts";
import { normal, normals, sample, weight, withDoubles } from "../families/samples.ts";
import { imageSizes, reachedSizes } from "../families/windows.ts";
import { lines } from "../families/oracle.ts";

export interface ConvTransposeAttrs extends ConvAttrs {
  /** Positions behind the last that the windows reach: below the stride or the dilation. */
  readonly outputPadding: readonly number[];
}

const PLAIN = { strides: [1, 1], padding: [0, 0], dilations: [1, 1], groups: 1, outputPadding: [0, 0] };

/** Sizes of the result: what the windows reach, and the output padding. */
function resultSizes(sizes: readonly Dim[], kernel: readonly Dim[], attrs: ConvTransposeAttrs): readonly Dim[] {
  return reachedSizes(sizes, kernel, attrs).map((reached, axis) => {
    const extra = attrs.outputPadding[axis] ?? -1;
    const most = Math.max(at(attrs.strides, axis), at(attrs.dilations, axis));
    if (attrs.outputPadding.length !== sizes.length || extra < 0 || extra >= most)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[conv_transpose] outputPadding: got [${attrs.outputPadding.join(", ")}], expected ${sizes.length} whole numbers below ${most}`,
      );
    const size = addDims(reached, extra);
    if (typeof size === "number" && size < 1)
      throw new WorkbenchError("IR_SHAPE", `[conv_transpose] axis ${axis}: the padding leaves ${size} positions`);
    return size;
  });
}

/** By its meaning: the transpose that JAX makes of its own convolution. */
const ORACLE = lines(
  LAYOUT_LETTERS,
  `
def forward(y):
    return jax.lax.conv_general_dilated(
        y, x1.astype(x0.dtype), a["strides"], [(p, p) for p in a["padding"]], rhs_dilation=a["dilations"],
        dimension_numbers=letters, feature_group_count=a["groups"])
`.trim(),
  // The output padding can make room for windows that the image does not have.
  `
def places(y):
    return forward(y)[tuple(slice(0, n) for n in x0.shape)]
`.trim(),
  "jax.jit(jax.linear_transpose(places, jax.ShapeDtypeStruct(s, x0.dtype)))(x0)[0]",
);

export const conv_transpose: Op<"conv_transpose", ConvTransposeAttrs, 2> = defineOp({
  name: "conv_transpose",
  summary:
    "The transpose of a convolution: every place of the image adds the weight [channels, filters of a group, taps], times its value, to the result.",
  arity: 2,
  operands: ["image", "weight"],
  outputs: "one",
  attributes: { ...CONV_ATTRS, outputPadding: attr.ints() },
  infer: ([x, w], attrs) => {
    const kernel = checkConvolution("conv_transpose", x, w, attrs);
    const [batch = 1, channels = 1] = x.shape;
    perGroup("conv_transpose", "channels", channels, attrs.groups);
    if (w.shape[0] !== channels)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[conv_transpose] channels: got ${formatType(x)} and the weight ${formatType(w)}, expected equal first sizes`,
      );
    const sizes = resultSizes(imageSizes("conv_transpose", x), kernel, attrs);
    return tensor(x.dtype, [batch, mulDims(w.shape[1] ?? 1, attrs.groups), ...sizes]);
  },
  reference: ([x, w], attrs, [type]) => {
    const shape = boundShape(type, "conv_transpose");
    const out = new Float64Array(sizeOf(shape));
    forEachProduct({ large: shape, small: x.shape, weight: w, attrs }, (to, from, k) => {
      out[to] = at(out, to) + at(x.data, from) * at(w.data, k);
    });
    return hostTensor(x.dtype, shape, out);
  },
  oracle: { jax: ORACLE },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x, w], attrs: { outputPadding: _, ...attrs } }) => {
      let back = g.conv([ct, w], attrs);
      // The output padding can make room for one window more than the image has.
      const sizes = shapeOf(g, x);
      for (let axis = 2; axis < sizes.length; axis++)
        if (shapeOf(g, back)[axis] !== sizes[axis])
          back = g.narrow([back], { axis, start: 0, length: sizes[axis] ?? 1 });
      return [back, weightCotangent(g, ct, x, w, attrs)];
    },
  },
  batching: {
    kind: "rule",
    rule: (context) => batchConvolution(context, 1, (x, w, attrs) => context.g.conv_transpose([x, w], attrs)),
  },
  traits: ["pure"],
  backends: {
    cpu: inOneType("conv_transpose", engineGeometry),
    coreml: milNative((e, [x, w], attrs) => milTransposedConvolution(e, x, w, attrs)),
    mlx: mlxCall("conv_transpose", { attrs: engineGeometry, when: withoutDouble("conv_transpose") }),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [2, 3, 3, 5], [3, 4, 3, 2]), PLAIN),
    sample("stride, padding, output padding", normals(3, [1, 8, 4, 3], [8, 6, 3, 4]), {
      ...PLAIN,
      strides: [2, 3],
      padding: [1, 2],
      outputPadding: [1, 2],
    }),
    sample("dilation, groups", normals(5, [2, 4, 3, 4], [4, 3, 2, 3]), {
      strides: [1, 2],
      padding: [1, 0],
      dilations: [3, 2],
      groups: 2,
      outputPadding: [2, 1],
    }),
    sample("one filter per channel", normals(7, [1, 5, 3, 2], [5, 1, 2, 2]), {
      ...PLAIN,
      strides: [2, 2],
      groups: 5,
    }),
    sample(
      "one dimension, symbolic length",
      normals(9, [1, 3, "T"], [3, 2, 4]),
      { strides: [3], padding: [1], dilations: [1], groups: 1, outputPadding: [1] },
      { bindings: { T: 4 } },
    ),
    sample(
      "symbolic batch, many channels",
      normals(11, ["B", 9, 2, 2], [9, 4, 2, 2]),
      { ...PLAIN, strides: [2, 2] },
      { bindings: { B: 2 } },
    ),
    sample("padding wider than the window", normals(13, [1, 2, 7, 6], [2, 1, 2, 1]), {
      ...PLAIN,
      padding: [2, 1],
    }),
    sample("three dimensions, stride, dilation, groups", normals(21, [1, 4, 2, 3, 2], [4, 3, 2, 2, 3]), {
      strides: [2, 1, 2],
      padding: [1, 0, 1],
      dilations: [1, 2, 1],
      groups: 2,
      outputPadding: [1, 0, 1],
    }),
    sample("a weight in half", [normal(15, [1, 2, 2, 3]), weight(16, [2, 3, 2, 2], "f16")], PLAIN, {
      differentiable: false,
    }),
  ]),
});
