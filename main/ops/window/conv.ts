import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { mulDims } from "../../ir/dim.ts";
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
import { milConvolution } from "../../backends/coreml/windowRules.ts";
import { shapeOf } from "../families/batching.ts";
import { inOneType } from "../../backends/cpu/rules.ts";
import { at, boundShape } from "../families/host.ts";
import { normal, normals, sample, weight, withDoubles } from "../families/samples.ts";
import { imageSizes, leftOver, reachedSizes, windowCounts } from "../families/windows.ts";
import { lines } from "../families/oracle.ts";

export type { ConvAttrs } from "../families/convolution.ts";

const PLAIN = { strides: [1, 1], padding: [0, 0], dilations: [1, 1], groups: 1 };

const ORACLE = lines(
  LAYOUT_LETTERS,
  `
jax.lax.conv_general_dilated(
    x0, x1.astype(x0.dtype), a["strides"], [(p, p) for p in a["padding"]], rhs_dilation=a["dilations"],
    dimension_numbers=letters, feature_group_count=a["groups"])
`
    .trim()
    .replaceAll("\n", ""),
);

export const conv: Op<"conv", ConvAttrs, 2> = defineOp({
  name: "conv",
  summary:
    "Cross-correlation of an image [batch, channels, ((depth,) height,) width] with a weight [filters, channels of a group, taps], zeros around it, in one to three dimensions.",
  arity: 2,
  operands: ["image", "weight"],
  outputs: "one",
  attributes: CONV_ATTRS,
  infer: ([x, w], attrs) => {
    const kernel = checkConvolution("conv", x, w, attrs);
    const [filters = 1, inGroup = 1] = w.shape;
    perGroup("conv", "filters", filters, attrs.groups);
    if (mulDims(inGroup, attrs.groups) !== x.shape[1])
      throw new WorkbenchError(
        "IR_SHAPE",
        `[conv] channels: got ${formatType(x)} and ${attrs.groups} groups of ${inGroup} in the weight ${formatType(w)}`,
      );
    return tensor(x.dtype, [x.shape[0] ?? 1, filters, ...windowCounts("conv", imageSizes("conv", x), kernel, attrs)]);
  },
  reference: ([x, w], attrs, [type]) => {
    const shape = boundShape(type, "conv");
    const out = new Float64Array(sizeOf(shape));
    forEachProduct({ large: x.shape, small: shape, weight: w, attrs }, (from, to, k) => {
      out[to] = at(out, to) + at(x.data, from) * at(w.data, k);
    });
    return hostTensor(x.dtype, shape, out);
  },
  oracle: { jax: ORACLE },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x, w], attrs }) => {
      const [sizes, kernel] = [shapeOf(g, x).slice(2), shapeOf(g, w).slice(2)];
      const reached = reachedSizes(shapeOf(g, ct).slice(2), kernel, attrs);
      const outputPadding = leftOver("conv", sizes, reached);
      return [g.conv_transpose([ct, w], { ...attrs, outputPadding }), weightCotangent(g, x, ct, w, attrs)];
    },
  },
  batching: {
    kind: "rule",
    rule: (context) => batchConvolution(context, 0, (x, w, attrs) => context.g.conv([x, w], attrs)),
  },
  traits: ["pure"],
  backends: {
    cpu: inOneType("conv", engineGeometry),
    coreml: milNative((e, [x, w], attrs) => milConvolution(e, x, w, attrs)),
    mlx: mlxCall("conv", { attrs: engineGeometry, when: withoutDouble("conv") }),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [2, 3, 5, 7], [4, 3, 3, 2]), PLAIN),
    sample("stride, padding, uneven rest", normals(3, [1, 2, 7, 6], [7, 2, 3, 3]), {
      ...PLAIN,
      strides: [2, 3],
      padding: [1, 2],
    }),
    sample("dilation, groups", normals(5, [2, 4, 9, 8], [6, 2, 2, 3]), {
      strides: [1, 2],
      padding: [2, 1],
      dilations: [3, 2],
      groups: 2,
    }),
    sample("one filter per channel", normals(7, [1, 5, 6, 5], [5, 1, 3, 3]), {
      ...PLAIN,
      strides: [2, 1],
      padding: [1, 1],
      groups: 5,
    }),
    sample(
      "one dimension, symbolic length",
      normals(9, [1, 3, "T"], [2, 3, 4]),
      { strides: [1], padding: [3], dilations: [1], groups: 1 },
      { bindings: { T: 9 } },
    ),
    sample(
      "one dimension, symbolic batch, stride",
      normals(11, ["B", 2, 11], [8, 2, 3]),
      { strides: [4], padding: [0], dilations: [2], groups: 1 },
      { bindings: { B: 3 } },
    ),
    sample("one tap", normals(13, [1, 9, 4, 4], [8, 9, 1, 1]), PLAIN),
    sample("padding wider than the window", normals(15, [1, 1, 2, 3], [1, 1, 2, 1]), {
      ...PLAIN,
      padding: [3, 2],
      strides: [2, 1],
    }),
    sample("three dimensions, stride, dilation, groups", normals(21, [1, 4, 5, 4, 6], [6, 2, 2, 3, 2]), {
      strides: [2, 1, 2],
      padding: [1, 1, 0],
      dilations: [1, 1, 2],
      groups: 2,
    }),
    sample("a weight in half", [normal(17, [1, 2, 4, 5]), weight(18, [3, 2, 2, 2], "f16")], PLAIN, {
      differentiable: false,
    }),
  ]),
});
