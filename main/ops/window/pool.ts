import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { addDims, mulDims, subDims } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Decomposition, Op, VjpContext } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { bordered, scalarLike } from "../families/constants.ts";
import { shapeOf } from "../families/batching.ts";
import type { PoolAttrs, PoolKind } from "../../backends/coreml/windowRules.ts";
import { milPool } from "../../backends/coreml/windowRules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, boundShape } from "../families/host.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { WindowAttrs } from "../families/windows.ts";
import { checkPerAxis, imageSizes, leftOver, reachedSizes, tapTable, windowCounts } from "../families/windows.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

export type { PoolAttrs } from "../../backends/coreml/windowRules.ts";

type Fold = readonly [padded: number, join: (a: number, b: number) => number];
/** What a position of the padding counts as, and how two positions become one. */
const FOLD: { readonly [K in PoolKind]: Fold } = {
  max: [-Infinity, (a, b) => Math.max(a, b)],
  mean: [0, (a, b) => a + b],
  sum: [0, (a, b) => a + b],
  min: [Infinity, (a, b) => Math.min(a, b)],
  prod: [1, (a, b) => a * b],
};
const JOIN: { readonly [K in PoolKind]: (g: OpBuilder, a: Value, b: Value) => Value } = {
  max: (g, a, b) => g.maximum([a, b]),
  mean: (g, a, b) => g.add([a, b]),
  sum: (g, a, b) => g.add([a, b]),
  min: (g, a, b) => g.minimum([a, b]),
  prod: (g, a, b) => g.mul([a, b]),
};

const windowsOf = ({ kernel, strides, padding }: PoolAttrs): WindowAttrs => ({
  strides,
  padding,
  dilations: kernel.map(() => 1),
});

/** The image with `value` around it, wide enough that every tap of every window, and its whole stride, is inside. */
function surrounded(
  g: OpBuilder,
  x: Value,
  value: number,
  counts: Shape,
  { kernel, strides, padding }: PoolAttrs,
): Value {
  return counts.reduce((image: Value, count, d) => {
    const axis = d + 2;
    const whole = addDims(mulDims(count, at(strides, d)), at(kernel, d) - 1);
    const after = subDims(subDims(whole, shapeOf(g, image)[axis] ?? 0), at(padding, d));
    return bordered(g, image, axis, [at(padding, d), after], value);
  }, x);
}

/** Every `stride`-th position of an axis from `start` on. */
function everyNth(g: OpBuilder, x: Value, axis: number, start: number, count: Shape[number], stride: number): Value {
  const run = g.narrow([x], { axis, start, length: mulDims(count, stride) });
  if (stride === 1) return run;
  const shape = shapeOf(g, run);
  const apart = g.reshape([run], { shape: [...shape.slice(0, axis), count, stride, ...shape.slice(axis + 1)] });
  const first = g.narrow([apart], { axis: axis + 1, start: 0, length: 1 });
  return g.reshape([first], { shape: shape.map((dim, i) => (i === axis ? count : dim)) });
}

/** The image as each tap of the window sees it, in row-major order: one value [batch, channels, ...windows] per tap. */
function tapsOf(g: OpBuilder, x: Value, counts: Shape, attrs: PoolAttrs): readonly Value[] {
  const image = surrounded(g, x, FOLD[attrs.kind][0], counts, attrs);
  return counts.reduce<readonly Value[]>(
    (images, count, d) =>
      images.flatMap((y) =>
        Array.from({ length: at(attrs.kernel, d) }, (_, tap) =>
          everyNth(g, y, d + 2, tap, count, at(attrs.strides, d)),
        ),
      ),
    [image],
  );
}

const countsOf = (g: OpBuilder, x: Value, attrs: PoolAttrs): Shape =>
  windowCounts("pool", shapeOf(g, x).slice(2), attrs.kernel, windowsOf(attrs));

const parts: Decomposition<PoolAttrs, 1> = (g, [x], attrs) => {
  const total = tapsOf(g, x, countsOf(g, x, attrs), attrs).reduce((a, b) => JOIN[attrs.kind](g, a, b));
  return attrs.kind === "mean" ? g.div([total, scalarLike(g, x, sizeOf(attrs.kernel))]) : total;
};

/**
 * Carries the share of each tap of each window back to the image: a transposed convolution, filter t is one at tap t.
 * `shares` has a value per tap, or one for all of them.
 */
function carriedBack(g: OpBuilder, x: Value, shares: readonly Value[], attrs: PoolAttrs): Value {
  const { dtype, shape } = g.typeOf(x);
  const plain = plainDType(dtype, "pool");
  const [batch = 1, channels = 1, ...sizes] = shape;
  const [taps, windows] = [sizeOf(attrs.kernel), windowsOf(attrs)];
  const images = mulDims(batch, channels);
  const counts = countsOf(g, x, attrs);
  const alone = shares.map((share) => g.reshape([share], { shape: [images, 1, ...counts] }));
  const [first] = alone;
  const stacked = alone.length === 1 && first !== undefined ? first : g.concat(alone, { axis: 1 });
  const one = (i: number): number => (shares.length === 1 || i % taps === Math.floor(i / taps) ? 1 : 0);
  const filters = Float64Array.from({ length: shares.length * taps }, (_, i) => one(i));
  const w = g.constant(hostTensor(plain, [shares.length, 1, ...attrs.kernel], filters));
  const outputPadding = leftOver("pool", sizes, reachedSizes(counts, attrs.kernel, windows));
  const y = g.conv_transpose([stacked, w], { ...windows, groups: 1, outputPadding });
  return g.reshape([y], { shape });
}

function gradient({ g, inputs: [x], outputs: [y], ct, attrs }: VjpContext<PoolAttrs, 1>): readonly Value[] {
  const back = (shares: readonly Value[]): readonly Value[] => [carriedBack(g, x, shares, attrs)];
  switch (attrs.kind) {
    case "sum":
      return back([ct]);
    case "mean":
      return back([g.div([ct, scalarLike(g, ct, sizeOf(attrs.kernel))])]);
    case "max":
    case "min": {
      // The first tap that reaches the extreme takes the whole cotangent.
      const zero = scalarLike(g, ct, 0);
      let left = ct;
      const shares = tapsOf(g, x, countsOf(g, x, attrs), attrs).map((tap) => {
        const reached = g.compare([tap, y ?? ct], { op: "eq" });
        const share = g.where([reached, left, zero]);
        left = g.where([reached, zero, left]);
        return share;
      });
      return back(shares);
    }
    case "prod": {
      // The product of the others: of those before a tap, and of those behind it.
      const taps = tapsOf(g, x, countsOf(g, x, attrs), attrs);
      const behind: Value[] = [];
      taps.reduceRight<Value | undefined>((product, tap, i) => {
        if (product !== undefined) behind[i] = product;
        return product === undefined ? tap : g.mul([product, tap]);
      }, undefined);
      let before = ct;
      return back(
        taps.map((tap, i) => {
          const rest = behind[i];
          const share = rest === undefined ? before : g.mul([before, rest]);
          before = g.mul([before, tap]);
          return share;
        }),
      );
    }
  }
}

const params = ({ kernel, strides, padding }: PoolAttrs): Pick<PoolAttrs, "kernel" | "strides" | "padding"> => ({
  kernel,
  strides,
  padding,
});
const KINDS = ["max", "mean", "sum", "min", "prod"] as const;
const [TWO, ONE, NONE] = [
  [2, 2],
  [1, 1],
  [0, 0],
];

/** Windows reduced by JAX. */
const ORACLE = lines(
  'start, join = {"max": (-jnp.inf, jax.lax.max), "min": (jnp.inf, jax.lax.min), "sum": (0.0, jax.lax.add), "mean": (0.0, jax.lax.add), "prod": (1.0, jax.lax.mul)}[a["kind"]]',
  'y = jax.lax.reduce_window(x0, start, join, [1, 1, *a["kernel"]], [1, 1, *a["strides"]], [(0, 0), (0, 0), *((p, p) for p in a["padding"])])',
  'y / np.prod(a["kernel"]) if a["kind"] == "mean" else y',
);

export const pool: Op<"pool", PoolAttrs, 1> = defineOp({
  name: "pool",
  summary:
    "Largest, mean, sum, smallest or product of every window of an image [batch, channels, ((depth,) height,) width]; a mean divides by the whole window, padding counts as zeros there and never wins elsewhere.",
  arity: 1,
  operands: ["image"],
  outputs: "one",
  attributes: { kind: attr.oneOf(KINDS), kernel: attr.ints(), strides: attr.ints(), padding: attr.ints() },
  infer: ([x], attrs) => {
    const dtype = plainDType(x.dtype, "pool");
    if (!isFloat(dtype))
      throw new WorkbenchError("IR_TYPE", `[pool] takes floats, got ${formatType(x)}`, { hint: "Insert a cast." });
    const sizes = imageSizes("pool", x);
    const { kernel, strides, padding } = attrs;
    checkPerAxis("pool", sizes.length, { kernel, strides, padding }, { kernel: 1, strides: 1 });
    if (padding.some((size, axis) => size >= at(kernel, axis)))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[pool] padding: got [${padding.join(", ")}], expected less than the window [${kernel.join(", ")}], so that none is empty`,
      );
    if (sizes.includes(0))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[pool] image: got ${formatType(x)}, expected a place at least on each axis`,
      );
    return tensor(dtype, [...x.shape.slice(0, 2), ...windowCounts("pool", sizes, kernel, windowsOf(attrs))]);
  },
  reference: ([x], attrs, [type]) => {
    const shape = boundShape(type, "pool");
    const [sizes, counts] = [x.shape.slice(2), shape.slice(2)];
    const table = tapTable(sizes, attrs.kernel, counts, windowsOf(attrs));
    const [plane, windows, taps] = [sizeOf(sizes), sizeOf(counts), sizeOf(attrs.kernel)];
    const [padded, join] = FOLD[attrs.kind];
    const out = new Float64Array(sizeOf(shape)).fill(padded);
    for (let image = 0; image < sizeOf(shape.slice(0, 2)); image++)
      for (let i = 0; i < table.length; i++) {
        const to = image * windows + Math.floor(i / taps);
        if (at(table, i) >= 0) out[to] = join(at(out, to), at(x.data, image * plane + at(table, i)));
      }
    return hostTensor(x.dtype, shape, attrs.kind === "mean" ? out.map((sum) => sum / taps) : out);
  },
  oracle: { jax: ORACLE },
  gradient: { kind: "vjp", rule: gradient },
  // Images of the batch are more images.
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs, size }) => {
      const [, items = 1, ...rest] = shapeOf(g, x);
      const y = g.pool([g.reshape([x], { shape: [mulDims(size, items), ...rest] })], attrs);
      return g.reshape([y], { shape: [size, items, ...shapeOf(g, y).slice(1)] });
    },
  },
  traits: ["pure", "reduction"],
  backends: {
    cpu: cpuKernel((attrs) => `pool_${attrs.kind}`, { takes: REALS, params }),
    coreml: milNative(
      (e, [x], attrs) => milPool(e, x, attrs),
      ({ attrs }) => attrs.kind !== "prod" || "Core ML has no pooling by product",
    ),
    mlx: mlxCall(({ kind }) => `pool_${kind}`, { attrs: params }),
    webgpu: decomposed(parts),
  },
  samples: withDoubles([
    sample("largest of 2 × 2, an uneven rest", [normal(1, [2, 3, 5, 7])], {
      kind: "max",
      kernel: TWO,
      strides: TWO,
      padding: NONE,
    }),
    sample("largest, windows overlap, padding", [normal(2, [1, 2, 6, 5], 1, -3)], {
      kind: "max",
      kernel: [3, 3],
      strides: [2, 1],
      padding: ONE,
    }),
    sample("mean with padding", [normal(3, [1, 3, 5, 4])], {
      kind: "mean",
      kernel: [3, 2],
      strides: [1, 2],
      padding: ONE,
    }),
    sample("sum, stride wider than the window", [normal(4, [2, 1, 8, 9])], {
      kind: "sum",
      kernel: [2, 1],
      strides: [3, 4],
      padding: [1, 0],
    }),
    sample("smallest with padding", [normal(5, [1, 2, 4, 7], 1, 3)], {
      kind: "min",
      kernel: [2, 3],
      strides: [1, 3],
      padding: [1, 2],
    }),
    sample("product with padding, some zeros", [values([2, 0, -1, 3, 0, 0, 4, 0.5, 1, -2, 5, 1], [1, 1, 3, 4])], {
      kind: "prod",
      kernel: TWO,
      strides: ONE,
      padding: ONE,
    }),
    sample(
      "one dimension, symbolic length",
      [uniform(6, [1, 3, "2*T"], -1, 1)],
      { kind: "max", kernel: [2], strides: [2], padding: [0] },
      { bindings: { T: 3 } },
    ),
    sample(
      "one dimension, symbolic batch",
      [normal(7, ["B", 2, 10])],
      { kind: "mean", kernel: [4], strides: [3], padding: [2] },
      { bindings: { B: 2 } },
    ),
    ...KINDS.map((kind) =>
      sample<PoolAttrs>(`three dimensions, ${kind}`, [normal(8, [1, 2, 5, 4, 3])], {
        ...{ kind, kernel: [3, 2, 2], strides: [2, 2, 1], padding: [1, 0, 1] },
      }),
    ),
    sample(
      "ties, whole image",
      [values([1, 3, 3, 3, 2, 0], [1, 1, 2, 3])],
      { kind: "max", kernel: [2, 3], strides: ONE, padding: NONE },
      { differentiable: false },
    ),
  ]),
});
