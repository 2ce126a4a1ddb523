/** Adafactor (Shazeer and Stern 2018): the second moment of a matrix from the means of its rows and columns. */
import type { Algebra } from "../algebra.ts";
import { rms, scale, sizeOfShape, square } from "../algebra.ts";
import type { Given, Optimizer } from "./optimizer.ts";
import { NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface AdafactorOptions {
  /** β2 of step t is 1 − t^−decay. */
  readonly decay?: number;
  /** The step is made shorter where its root mean square is above this. */
  readonly clip?: number;
  /** Added to squares of gradients. */
  readonly epsilon1?: number;
  /** Least root mean square of a parameter, for `parameterScale`. */
  readonly epsilon2?: number;
  readonly weightDecay?: number;
  /** The rate is min(lr, 1/√t), as in the paper, and not lr. */
  readonly relativeStep?: boolean;
  /** Steps are in proportion to the parameter's root mean square. */
  readonly parameterScale?: boolean;
  /** Matrices with a smaller side keep a whole second moment: 0 in the paper, 128 in optax. */
  readonly leastFactored?: number;
}

const DEFAULTS = {
  decay: 0.8,
  clip: 1,
  epsilon1: 1e-30,
  epsilon2: 1e-3,
  weightDecay: 0,
  relativeStep: true,
  parameterScale: true,
  leastFactored: 0,
};
const RULES = {
  decay: POSITIVE,
  clip: POSITIVE,
  epsilon1: POSITIVE,
  epsilon2: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  relativeStep: "flag",
  parameterScale: "flag",
  leastFactored: { least: 0, whole: true },
} as const;

/** Tensors of more than two axes are matrices of the first axis by all others. */
export const asMatrix = (shape: readonly number[]): readonly [number, number] | undefined => {
  const [rows] = shape;
  return rows === undefined || shape.length < 2 ? undefined : [rows, sizeOfShape(shape.slice(1))];
};

/** Adafactor without momentum, as the paper has it for large models. */
export function adafactor(given: AdafactorOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("adafactor", DEFAULTS, given, RULES);
  const { decay, clip, epsilon1, epsilon2, weightDecay, relativeStep, parameterScale, leastFactored } = options;
  const factored = (shape: readonly number[]): readonly [number, number] | undefined => {
    const matrix = asMatrix(shape);
    return matrix !== undefined && Math.min(...matrix) >= leastFactored ? matrix : undefined;
  };
  return {
    name: "adafactor",
    options,
    slots: (shape) => {
      const matrix = factored(shape);
      if (matrix === undefined) return [zeros("second", shape)];
      return [zeros("rows", [matrix[0], 1]), zeros("columns", [1, matrix[1]])];
    },
    scalars: ({ step, learningRate }) => {
      const keep = 1 - step ** -decay;
      const rate = relativeStep ? Math.min(learningRate, 1 / Math.sqrt(step)) : learningRate;
      return { learningRate: rate, keep, take: 1 - keep };
    },
    update(a, all) {
      const { parameter, gradient, scalars } = all;
      const shape = a.shapeOf(parameter);
      const matrix = factored(shape);
      const squares = a.add(square(a, gradient), a.scalar(epsilon1));
      const { step, slots } = matrix === undefined ? whole(a, all, squares) : byRowsAndColumns(a, all, squares, matrix);
      const shorter = a.div(step, a.max(a.scalar(1), scale(a, rms(a, step), 1 / clip)));
      const rate = of(scalars, "learningRate");
      const own = parameterScale ? a.mul(rate, a.max(a.scalar(epsilon2), rms(a, parameter))) : rate;
      const moved = a.sub(parameter, a.mul(shorter, own));
      const next = weightDecay === 0 ? moved : a.sub(moved, a.mul(scale(a, parameter, weightDecay), rate));
      return { parameter: next, slots };
    },
  };
}

interface Scaled<T> {
  readonly step: T;
  readonly slots: Readonly<Record<string, T>>;
}

const averaged = <T>(a: Algebra<T>, { slots, scalars }: Given<T>, name: string, next: T): T =>
  a.add(a.mul(of(slots, name), of(scalars, "keep")), a.mul(next, of(scalars, "take")));

function whole<T>(a: Algebra<T>, all: Given<T>, squares: T): Scaled<T> {
  const second = averaged(a, all, "second", squares);
  return { step: a.div(all.gradient, a.sqrt(second)), slots: { second } };
}

function byRowsAndColumns<T>(a: Algebra<T>, all: Given<T>, squares: T, matrix: readonly [number, number]): Scaled<T> {
  const [height, width] = matrix;
  const table = a.reshape(squares, matrix);
  const rows = averaged(a, all, "rows", scale(a, a.sum(table, [1]), 1 / width));
  const columns = averaged(a, all, "columns", scale(a, a.sum(table, [0]), 1 / height));
  // Roots before the product: the product of two small means would be no number of f32.
  const ofRows = a.sqrt(a.div(rows, scale(a, a.sum(rows), 1 / height)));
  const step = a.div(a.div(a.reshape(all.gradient, matrix), ofRows), a.sqrt(columns));
  return { step: a.reshape(step, a.shapeOf(all.gradient)), slots: { rows, columns } };
}
