import { WorkbenchError } from "../../diagnostics/errors.ts";
import { mulDims } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, like, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { RequantizeAttrs } from "../families/affine.ts";
import {
  CODES_ON_HOST,
  EXACT_PRODUCTS,
  NO_SLOPE,
  centred,
  checkCodes,
  codeOf,
  requantizeSchema,
  requantized,
  someCodes,
  wholeSum,
} from "../families/affine.ts";
import type { ConvAttrs } from "../families/convolution.ts";
import { CONV_ATTRS, LAYOUT_LETTERS } from "../families/convolution.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { integers, sample, values } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { conv } from "../window/conv.ts";

type Arity = Range<2, 3>;
export interface Qconv2dAttrs extends ConvAttrs, RequantizeAttrs {}

const geometryOf = ({ strides, padding, dilations, groups }: ConvAttrs): ConvAttrs => ({
  strides,
  padding,
  dilations,
  groups,
});

function infer([x, w, bias]: InputsOf<Arity, TensorType>, attrs: Qconv2dAttrs): TensorType {
  checkCodes("qconv2d", [x, w], bias, w.shape[0]);
  const sizes = [x.shape[1], ...w.shape];
  const taps = mulDims(w.shape[2] ?? 1, w.shape[3] ?? 1);
  if (x.shape.length !== 4 || sizes.some((size) => typeof size !== "number") || Number(taps) > EXACT_PRODUCTS)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[qconv2d] got ${formatType(x)} and ${formatType(w)}, expected an image [N, C, H, W] and a weight of known sizes with at most ${EXACT_PRODUCTS} taps`,
    );
  return tensor("i8", conv.infer([like(x, "f32"), like(w, "f32")], geometryOf(attrs), []).shape);
}

/** Channels are taken in runs whose sums f32 holds exactly; the sums of the runs are added in i32. */
function parts(g: OpBuilder, [x, w, bias]: InputsOf<Arity, Value>, attrs: Qconv2dAttrs): Value {
  const [count = 1, , ...sizes] = g.typeOf(x).shape;
  const [filters = 1, inGroup = 1, ...taps] = g.typeOf(w).shape;
  const geometry = geometryOf(attrs);
  const [image, weight] = [centred(g, x, attrs.xZero), centred(g, w, attrs.weightZero)];
  const run = Math.floor(EXACT_PRODUCTS / taps.reduce<number>((product, size) => product * Number(size), 1));
  const grouped = g.reshape([image], { shape: [count, attrs.groups, inGroup, ...sizes] });
  const sums: Value[] = [];
  for (let start = 0; start < Number(inGroup); start += run) {
    const length = Math.min(run, Number(inGroup) - start);
    const part = g.narrow([grouped], { axis: 2, start, length });
    const own = g.reshape([part], { shape: [count, attrs.groups * length, ...sizes] });
    sums.push(wholeSum(g, g.conv([own, g.narrow([weight], { axis: 1, start, length })], geometry)));
  }
  const biases = bias === undefined ? [] : [g.reshape([bias], { shape: [filters, 1, 1] })];
  return requantized(
    g,
    [...sums, ...biases].reduce((total, sum) => g.add([total, sum])),
    attrs,
  );
}

const moved = (x: HostTensor, zero: number): HostTensor =>
  hostTensor(
    "f32",
    x.shape,
    x.data.map((code) => code - zero),
  );

const GEOMETRY: ConvAttrs = { strides: [1, 1], padding: [0, 0], dilations: [1, 1], groups: 1 };
const CODES: RequantizeAttrs = { xZero: 3, weightZero: -2, outZero: 5, scale: 0.0011 };

export const qconv2d: Op<"qconv2d", Qconv2dAttrs, Arity> = defineOp({
  name: "qconv2d",
  summary:
    "A convolution of codes [N, C, H, W] with a weight of codes, summed exactly and made codes as qmatmul does; the padding is xZero, bias is i32 of the filters.",
  arity: { least: 2, most: 3 },
  operands: ["image", "weight", "bias"],
  outputs: "one",
  attributes: { ...CONV_ATTRS, ...requantizeSchema },
  infer,
  reference: ([x, w, bias], attrs, types) => {
    const pair = [moved(x, attrs.xZero), moved(w, attrs.weightZero)] as const;
    const sums = conv.reference(pair, geometryOf(attrs), types);
    const plane = at(sums.shape, 2) * at(sums.shape, 3);
    const made = sums.data.map((sum, i) => {
      const filter = Math.floor(i / plane) % at(sums.shape, 1);
      return codeOf((sum + (bias === undefined ? 0 : at(bias.data, filter))) * attrs.scale, attrs.outZero);
    });
    return hostTensor("i8", sums.shape, made);
  },
  oracle: {
    jax: lines(
      LAYOUT_LETTERS,
      `
total = jax.lax.conv_general_dilated(
    jnp.asarray(x0, 'f8') - a["xZero"], jnp.asarray(x1, 'f8') - a["weightZero"], a["strides"],
    [(p, p) for p in a["padding"]], rhs_dilation=a["dilations"], dimension_numbers=letters,
    feature_group_count=a["groups"])
`
        .trim()
        .replaceAll("\n", ""),
      "total = total + (xs[2][:, None, None] if len(xs) > 2 else 0)",
      "np.clip(np.rint(total * a['scale']) + a['outZero'], -128, 127).astype(np.int8)",
    ),
  },
  gradient: NO_SLOPE,
  batching: decomposed(parts),
  traits: ["pure"],
  backends: { cpu: decomposed(parts), coreml: CODES_ON_HOST, mlx: decomposed(parts) },
  samples: [
    sample(
      "odd sizes, padding, bias",
      [someCodes(1, [2, 3, 5, 7]), someCodes(2, [5, 3, 3, 3]), integers(3, [5], -999, 999)],
      {
        ...GEOMETRY,
        ...CODES,
        padding: [1, 1],
      },
    ),
    sample(
      "groups, strides, symbolic height",
      [someCodes(4, [1, 4, "2*T", 5]), someCodes(5, [6, 2, 2, 3])],
      { ...GEOMETRY, ...CODES, strides: [2, 1], groups: 2 },
      { bindings: { T: 3 } },
    ),
    sample("more channels than one run, groups", [someCodes(6, [1, 62, 4, 3]), someCodes(7, [2, 31, 3, 3])], {
      ...GEOMETRY,
      ...CODES,
      groups: 2,
      scale: 0.0003,
    }),
    sample("no images", [values([], [0, 2, 3, 3], "i8"), someCodes(8, [3, 2, 2, 2])], { ...GEOMETRY, ...CODES }),
  ],
});
