import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, sameShape, tensor } from "../../ir/type.ts";
import type { TensorType } from "../../ir/type.ts";
import type { Decomposition, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { commonDType } from "../families/binary.ts";
import { shapeOf } from "../families/batching.ts";
import { at, numbersOf, stridedCopy } from "../families/host.ts";
import { normals, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** Axes by name of what happens to them; the i-th of a list belongs to the i-th of the other operand's. */
export interface DotGeneralAttrs {
  /** Summed over. */
  readonly lhsContracting: readonly number[];
  readonly rhsContracting: readonly number[];
  /** Kept, and walked together. */
  readonly lhsBatch: readonly number[];
  readonly rhsBatch: readonly number[];
}

interface Roles {
  readonly batch: readonly number[];
  readonly free: readonly number[];
  readonly contracting: readonly number[];
}

function rolesOf(side: string, rank: number, batch: readonly number[], contracting: readonly number[]): Roles {
  const positive = (axes: readonly number[]): readonly number[] =>
    axes.map((axis) => normalizeAxis(axis, rank, "dot_general"));
  const [b, c] = [positive(batch), positive(contracting)];
  const taken = new Set([...b, ...c]);
  if (taken.size !== b.length + c.length)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[dot_general] ${side} axes: got batch [${batch.join(", ")}] and contracting [${contracting.join(", ")}], expected each axis once`,
    );
  const free = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => !taken.has(axis));
  return { batch: b, free, contracting: c };
}

const rolesOfBoth = (a: Shape, b: Shape, attrs: DotGeneralAttrs): readonly [Roles, Roles] => [
  rolesOf("left", a.length, attrs.lhsBatch, attrs.lhsContracting),
  rolesOf("right", b.length, attrs.rhsBatch, attrs.rhsContracting),
];

const pick = <T>(items: readonly T[], axes: readonly number[]): readonly T[] =>
  axes.map((axis) => items[axis]).filter((item) => item !== undefined);

function infer([a, b]: readonly [TensorType, TensorType], attrs: DotGeneralAttrs): TensorType {
  const dtype = commonDType("dot_general", "floats", a, b);
  const [left, right] = rolesOfBoth(a.shape, b.shape, attrs);
  for (const role of ["batch", "contracting"] as const)
    if (!sameShape(pick(a.shape, left[role]), pick(b.shape, right[role])))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[dot_general] ${role} axes differ: got [${left[role].join(", ")}] of ${formatType(a)} and [${right[role].join(", ")}] of ${formatType(b)}`,
      );
  return tensor(dtype, [...pick(a.shape, left.batch), ...pick(a.shape, left.free), ...pick(b.shape, right.free)]);
}

/** The axes in the given order, the three groups as one axis each; batch axes only where there are any. */
function asMatrix(
  g: OpBuilder,
  x: Value,
  batch: readonly number[],
  rows: readonly number[],
  columns: readonly number[],
): Value {
  const perm = [...batch, ...rows, ...columns];
  const turned = perm.every((axis, i) => axis === i) ? x : g.transpose([x], { perm });
  const size = (axes: readonly number[]): Dim => productOf(pick(shapeOf(g, x), axes));
  const shape = [...(batch.length > 0 ? [size(batch)] : []), size(rows), size(columns)];
  return sameShape(shapeOf(g, turned), shape) ? turned : g.reshape([turned], { shape });
}

const parts: Decomposition<DotGeneralAttrs, 2> = (g, [a, b], attrs) => {
  const [from, to] = [g.typeOf(a), g.typeOf(b)];
  const [left, right] = rolesOfBoth(from.shape, to.shape, attrs);
  const x = asMatrix(g, a, left.batch, left.free, left.contracting);
  const y = asMatrix(g, b, right.batch, right.contracting, right.free);
  const product = g.matmul([x, y]);
  const { shape } = infer([from, to], attrs);
  return sameShape(shapeOf(g, product), shape) ? product : g.reshape([product], { shape });
};

export const dot_general: Op<"dot_general", DotGeneralAttrs, 2> = defineOp({
  name: "dot_general",
  summary:
    "Products summed over any axes of two tensors, with any other axes walked together; the result has these, then the free axes of the left, then those of the right.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {
    lhsContracting: attr.ints(),
    rhsContracting: attr.ints(),
    lhsBatch: attr.ints(),
    rhsBatch: attr.ints(),
  },
  infer,
  reference: ([a, b], attrs) => {
    const [left, right] = rolesOfBoth(a.shape, b.shape, attrs);
    const gathered = (x: typeof a, { batch, free, contracting }: Roles): Float64Array => {
      const perm = [...batch, ...free, ...contracting];
      return stridedCopy(x.data, pick(x.shape, perm), pick(stridesOf(x.shape), perm));
    };
    const [x, y] = [gathered(a, left), gathered(b, right)];
    const [items, m] = [sizeOf(pick(a.shape, left.batch)), sizeOf(pick(a.shape, left.free))];
    const [n, k] = [sizeOf(pick(b.shape, right.free)), sizeOf(pick(a.shape, left.contracting))];
    const shape = numbersOf(infer([a, b], attrs).shape, "dot_general");
    const out = new Float64Array(items * m * n);
    for (let i = 0; i < out.length; i++) {
      const [row, column] = [Math.floor(i / n), Math.floor(i / (m * n)) * n + (i % n)];
      for (let l = 0; l < k; l++) out[i] = at(out, i) + at(x, row * k + l) * at(y, column * k + l);
    }
    return hostTensor(a.dtype, shape, out);
  },
  oracle: {
    jax: 'jax.lax.dot_general(x0, x1, (([i % x0.ndim for i in a["lhsContracting"]], [i % x1.ndim for i in a["rhsContracting"]]), (a["lhsBatch"], a["rhsBatch"])))',
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure"],
  backends: everywhere(parts),
  samples: withDoubles([
    sample("a matrix product, odd sizes", normals(1, [3, 5], [5, 7]), {
      lhsContracting: [1],
      rhsContracting: [0],
      lhsBatch: [],
      rhsBatch: [],
    }),
    sample("batch axes that do not lie in front", normals(3, [3, 2, 4, 5], [5, 4, 6, 2]), {
      lhsContracting: [3],
      rhsContracting: [0],
      lhsBatch: [1, 2],
      rhsBatch: [3, 1],
    }),
    sample("two axes summed, in another order", normals(5, [3, 4, 5], [5, 2, 4]), {
      lhsContracting: [1, 2],
      rhsContracting: [-1, 0],
      lhsBatch: [],
      rhsBatch: [],
    }),
    sample(
      "symbolic rows and batch",
      normals(7, ["T", 3, "B"], ["B", 4, 3]),
      { lhsContracting: [1], rhsContracting: [2], lhsBatch: [2], rhsBatch: [0] },
      { bindings: { T: 5, B: 2 } },
    ),
    sample(
      "symbolic inner size",
      normals(9, [2, "T"], [3, "T"]),
      { lhsContracting: [1], rhsContracting: [1], lhsBatch: [], rhsBatch: [] },
      { bindings: { T: 4 } },
    ),
    sample("nothing summed: an outer product", normals(11, [3], [2, 2]), {
      lhsContracting: [],
      rhsContracting: [],
      lhsBatch: [],
      rhsBatch: [],
    }),
    sample("everything summed: a scalar", normals(13, [3, 2], [2, 3]), {
      lhsContracting: [0, 1],
      rhsContracting: [1, 0],
      lhsBatch: [],
      rhsBatch: [],
    }),
    sample("everything walked together: a product of elements", normals(15, [3, 2], [3, 2]), {
      lhsContracting: [],
      rhsContracting: [],
      lhsBatch: [0, 1],
      rhsBatch: [0, 1],
    }),
  ]),
});
