import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { at, axisWalk } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import type { Interpolation, Positions } from "../families/resample.ts";
import { INTERPOLATIONS, MOST_PLACES, POSITIONS, tapsOf } from "../families/resample.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import { checkPerAxis, imageSizes } from "../families/windows.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface InterpolateAttrs {
  readonly mode: Interpolation;
  readonly positions: Positions;
  /** Of the result, one per axis behind the channels. */
  readonly sizes: readonly number[];
}

/** One axis: what each tap reads, times its weights, added up. */
function along(g: OpBuilder, x: Value, axis: number, to: number, { mode, positions }: InterpolateAttrs): Value {
  const { dtype, shape } = g.typeOf(x);
  const from = staticDim(shape[axis] ?? 1, "interpolate");
  if (from === to) return x;
  const behind = shape.slice(axis + 1).map(() => 1);
  const read = tapsOf(from, to, mode, positions).map(({ places, weights }) => {
    const taken = g.gather([x, g.constant(hostTensor("i32", [to], places))], { axis });
    if (mode === "nearest") return taken;
    return g.mul([taken, g.constant(hostTensor(plainDType(dtype, "interpolate"), [to, ...behind], weights))]);
  });
  return read.reduce((a, b) => g.add([a, b]));
}

const parts = (g: OpBuilder, [x]: readonly [Value], attrs: InterpolateAttrs): Value =>
  attrs.sizes.reduce((made, to, i) => along(g, made, i + 2, to, attrs), x);

function resample(x: HostTensor, axis: number, to: number, { mode, positions }: InterpolateAttrs): HostTensor {
  const { outer, size, inner } = axisWalk(x.shape, axis);
  if (size === to) return x;
  const shape = x.shape.with(axis, to);
  const out = new Float64Array(sizeOf(shape));
  for (const { places, weights } of tapsOf(size, to, mode, positions))
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < to; i++)
        for (let k = 0; k < inner; k++) {
          const place = (o * to + i) * inner + k;
          out[place] = at(out, place) + at(weights, i) * at(x.data, (o * size + at(places, i)) * inner + k);
        }
  return hostTensor(x.dtype, shape, out);
}

/** Each axis as sums over all its places, with weights by their distances from the position that is read. */
const ORACLE = lines(
  `
def position(n, m):
    i = np.arange(m)
    return {"half_pixel": (i + 0.5) * n / m - 0.5, "align_corners": i * (n - 1) / max(m - 1, 1), "asymmetric": i * n / m}[a["positions"]]
`.trim(),
  `
def weights(n, m):
    at = position(n, m)
    if a["mode"] == "nearest":
        at = np.floor(at if a["positions"] == "asymmetric" else at + 0.5)
    grid = np.arange(-4, n + 4)
    d = np.abs(at[:, None] - grid)
    far = np.where(d < 1, 1.25 * d**3 - 2.25 * d**2 + 1, np.where(d < 2, -0.75 * (d**3 - 5 * d**2 + 8 * d - 4), 0))
    full = far if a["mode"] == "cubic" else np.clip(1 - d, 0, 1)
    return full @ (np.clip(grid, 0, n - 1)[:, None] == np.arange(n))
`.trim(),
  "read = lambda y, w: np.where(w != 0, w * y[..., None, :], 0).sum(-1)",
  "y = x0",
  'for axis, m in enumerate(a["sizes"]): y = y if y.shape[axis + 2] == m else np.moveaxis(read(np.moveaxis(y, axis + 2, -1), weights(y.shape[axis + 2], m)), -1, axis + 2)',
  "y",
);

const half = (mode: Interpolation, sizes: readonly number[]): InterpolateAttrs => ({
  ...{ mode, sizes, positions: "half_pixel" },
});

export const interpolate: Op<"interpolate", InterpolateAttrs, 1> = defineOp({
  name: "interpolate",
  summary:
    "An image [batch, channels, ((depth,) height,) width] at other sizes: the nearest place, a line between two, or a cubic through four (a = -3/4); beyond the edge lies the edge. An axis that keeps its size is not touched.",
  arity: 1,
  operands: ["image"],
  outputs: "one",
  attributes: { mode: attr.oneOf(INTERPOLATIONS), positions: attr.oneOf(POSITIONS), sizes: attr.ints() },
  infer: ([x], { sizes }) => {
    const dtype = plainDType(x.dtype, "interpolate");
    if (!isFloat(dtype))
      throw new WorkbenchError("IR_TYPE", `[interpolate] image: got ${formatType(x)}, expected floats`, {
        hint: "Insert a cast.",
      });
    const from = imageSizes("interpolate", x);
    checkPerAxis("interpolate", from.length, { sizes }, { sizes: 1 });
    const longest = Math.max(...sizes);
    if (longest > MOST_PLACES)
      throw new WorkbenchError("IR_ATTRIBUTE", `[interpolate] sizes: got ${longest}, expected at most ${MOST_PLACES}`);
    const fits = from.every((size, i) => size === sizes[i] || (typeof size === "number" && size > 0));
    if (!fits)
      throw new WorkbenchError("IR_SHAPE", `[interpolate] image: got ${formatType(x)}, expected sizes that are known`, {
        hint: "Specialise the graph first: where each place reads depends on the sizes.",
      });
    return tensor(dtype, [...x.shape.slice(0, 2), ...sizes]);
  },
  reference: ([x], attrs) => attrs.sizes.reduce((made, to, i) => resample(made, i + 2, to, attrs), x),
  oracle: { numpy: ORACLE },
  ...byParts(parts),
  traits: ["pure"],
  samples: withDoubles([
    sample("linear, larger and smaller", [normal(1, [2, 3, 5, 7])], half("linear", [9, 3])),
    sample("nearest, larger and smaller", [normal(2, [1, 2, 5, 7])], half("nearest", [8, 3])),
    sample("cubic, larger and smaller", [normal(3, [1, 2, 5, 9])], half("cubic", [7, 4])),
    sample("three dimensions", [normal(4, [1, 2, 3, 2, 5])], half("linear", [5, 3, 5])),
    sample("one dimension, corners", [normal(5, [1, 2, 5])], { mode: "cubic", positions: "align_corners", sizes: [9] }),
    sample("nearest, corners", [normal(6, [1, 1, 5, 3])], {
      ...{ mode: "nearest", positions: "align_corners", sizes: [8, 7] },
    }),
    sample("left edges", [normal(7, [1, 1, 5, 3])], { mode: "nearest", positions: "asymmetric", sizes: [8, 6] }),
    sample("linear, left edges", [normal(7, [1, 1, 5])], { mode: "linear", positions: "asymmetric", sizes: [7] }),
    sample("one place", [normal(8, [1, 2, 1, 4])], { mode: "linear", positions: "align_corners", sizes: [3, 1] }),
    sample("symbolic batch", [normal(9, ["B", 1, 3, 4])], half("linear", [6, 4]), { bindings: { B: 2 } }),
    sample(
      "NaN and infinities",
      [values([1, NaN, 3, Infinity, 5, 6, -Infinity, 8, 9], [1, 1, 9])],
      half("linear", [18]),
      { differentiable: false },
    ),
    sample("no channels", [values([], [1, 0, 3])], half("linear", [6])),
  ]),
});
