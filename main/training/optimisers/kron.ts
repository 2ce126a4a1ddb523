/**
 * Kron, the PSGD optimiser with a Kronecker product of triangular factors (Li 2018, 2022): the factors are fitted so that what
 * they make of the momentum is white. The criterion is a mean over a random matrix V; libraries draw one V in each fit, here
 * the mean itself is taken, which has a closed form. So nothing is random, and the fit aims at the same factors.
 */
import type { Algebra } from "../algebra.ts";
import { average, item, norm, scale, square } from "../algebra.ts";
import { asMatrix } from "./adafactor.ts";
import { decayed } from "./adam.ts";
import { inverseOfUpper, upperOf } from "./factors.ts";
import type { Given, Optimizer, Slot } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface KronOptions {
  readonly momentum?: number;
  /** Of the factors. */
  readonly preconditionerRate?: number;
  /** Steps that fit the factors each; later, a fit comes after ever more steps. */
  readonly fittedSteps?: number;
  /** How fast fits become rarer after those, and the rarest that they become. */
  readonly rarer?: number;
  readonly leastShare?: number;
  /** The preconditioned step is made shorter where its root mean square is above this. */
  readonly clip?: number;
  readonly weightDecay?: number;
  /** A longer side of a matrix has a diagonal factor. */
  readonly longestSide?: number;
}

const DEFAULTS = {
  momentum: 0.9,
  preconditionerRate: 0.1,
  fittedSteps: 250,
  rarer: 0.001,
  leastShare: 0.03,
  clip: 1.1,
  weightDecay: 0,
  longestSide: 8192,
};
const RULES = {
  momentum: DECAY,
  preconditionerRate: { above: 0, most: 1 },
  fittedSteps: { least: 1, whole: true },
  rarer: NOT_NEGATIVE,
  leastShare: { above: 0, most: 1 },
  clip: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  longestSide: { least: 1, whole: true },
} as const;
type Chosen = typeof DEFAULTS;

const TINY = 1e-30;

/** Of 1 at first, falling after `fittedSteps`: the share of steps that fit the factors. */
const shareAt = (step: number, { fittedSteps, rarer, leastShare }: Chosen): number =>
  Math.max(leastShare, Math.min(1, Math.exp(-rarer * Math.max(0, step - fittedSteps))));

/** P = Qᵀ Q for both sides: θ −= lr (P_left m̂ P_right + λ θ), with m̂ the momentum divided by 1 − μ^t. */
export function kron(given: KronOptions = {}): Optimizer {
  const options = readOptions<Chosen>("kron", DEFAULTS, given, RULES);
  const { momentum, clip, weightDecay, longestSide } = options;
  const isDense = (size: number): boolean => size > 1 && size <= longestSide;
  /** Vectors have a diagonal factor, as in the authors' code. */
  const factorsOf = (shape: readonly number[]): readonly Slot[] => {
    const matrix = asMatrix(shape);
    if (matrix === undefined) return [{ name: "diagonal", shape, initial: "zeros" }];
    return [factorSlot("left", matrix[0], isDense), factorSlot("right", matrix[1], isDense)];
  };
  return {
    name: "kron",
    options,
    slots: (shape) => [zeros("momentum", shape), ...factorsOf(shape)],
    scalars: ({ step, learningRate }) => {
      // A fit is due whenever the shares since the last one add up to one whole.
      const before = step === 1 ? 0 : fits(step - 1, options);
      return { learningRate, ofMomentum: 1 / (1 - momentum ** step), fit: fits(step, options) > before ? 1 : 0 };
    },
    update(a, all) {
      const { gradient, slots, scalars } = all;
      const next = average(a, of(slots, "momentum"), gradient, momentum);
      const white = a.mul(next, of(scalars, "ofMomentum"));
      const shape = a.shapeOf(gradient);
      const matrix = asMatrix(shape);
      const { step, factors } =
        matrix === undefined
          ? ofVector(a, all, white, options)
          : ofMatrix(a, all, a.reshape(white, matrix), matrix.map(isDense), options);
      const root = a.sqrt(scale(a, a.sum(square(a, step)), 1 / shape.reduce((n, dim) => n * dim, 1)));
      const shorter = a.div(step, a.max(a.scalar(1), scale(a, root, 1 / clip)));
      return {
        parameter: decayed(a, all, a.reshape(shorter, shape), weightDecay),
        slots: { momentum: next, ...factors },
      };
    },
  };
}

const factorSlot = (name: string, size: number, isDense: (size: number) => boolean): Slot =>
  isDense(size) ? { name, shape: [size, size], initial: "identity" } : { name, shape: [size], initial: "zeros" };

/** How many fits there were after `step` steps. */
const known = new WeakMap<Chosen, number[]>();
function fits(step: number, options: Chosen): number {
  const sums = known.get(options) ?? [0];
  known.set(options, sums);
  while (sums.length <= step) sums.push((sums.at(-1) ?? 0) + shareAt(sums.length, options));
  // The first step fits whatever the sum's rounding is.
  return Math.floor(item(sums, step) + 1e-9);
}

interface Whitened<T> {
  readonly step: T;
  readonly factors: Readonly<Record<string, T>>;
}

/** Diagonal factors start at one, and are kept as what they differ from it, since slots start at zero. */
const fromSlot = <T>(a: Algebra<T>, slot: T): T => a.add(slot, a.scalar(1));
const toSlot = <T>(a: Algebra<T>, factor: T): T => a.sub(factor, a.scalar(1));

function ofVector<T>(a: Algebra<T>, { slots, scalars }: Given<T>, white: T, options: Chosen): Whitened<T> {
  const rate = options.preconditionerRate;
  const [diagonal] = a.choose(
    of(scalars, "fit"),
    [fromSlot(a, of(slots, "diagonal")), white],
    (b, [factor, m]) => (factor === undefined || m === undefined ? [] : [fittedDiagonal(b, factor, m, rate)]),
    (_b, [factor]) => (factor === undefined ? [] : [factor]),
  );
  const own = item([diagonal], 0);
  if (own === undefined) throw new RangeError("a fit gives its factor");
  return { step: a.mul(square(a, own), white), factors: { diagonal: toSlot(a, own) } };
}

/** q − rate · q (A² − B²) / max(A² + B²), with A = q m and the mean of B² = 1 / q². */
function fittedDiagonal<T>(a: Algebra<T>, factor: T, m: T, rate: number): T {
  const first = square(a, a.mul(factor, m));
  const second = a.div(a.scalar(1), square(a, factor));
  const size = a.max(a.largest(a.add(first, second)), a.scalar(TINY));
  return a.sub(factor, a.mul(factor, a.div(scale(a, a.sub(first, second), rate), size)));
}

function ofMatrix<T>(
  a: Algebra<T>,
  { slots, scalars }: Given<T>,
  white: T,
  dense: readonly boolean[],
  options: Chosen,
): Whitened<T> {
  const names = ["left", "right"] as const;
  const read = names.map((name, i) => (dense[i] === true ? of(slots, name) : fromSlot(a, of(slots, name))));
  const rate = options.preconditionerRate;
  const found = a.choose(
    of(scalars, "fit"),
    [...read, white],
    (b, [left, right, m]) =>
      left === undefined || right === undefined || m === undefined ? [] : fittedPair(b, left, right, m, dense, rate),
    (_b, operands) => operands.slice(0, 2),
  );
  const [left, right] = [item(found, 0), item(found, 1)];
  const half = times(a, left, dense[0] === true, white, right, dense[1] === true);
  // Qᵀ (Q m Qᵀ) Q
  const rows = dense[0] === true ? a.matmul(a.transpose(left), half) : a.mul(asColumn(a, left), half);
  const step = dense[1] === true ? a.matmul(rows, right) : a.mul(rows, asRow(a, right));
  const kept = [left, right].map((factor, i) => (dense[i] === true ? factor : toSlot(a, factor)));
  return { step, factors: { left: item(kept, 0), right: item(kept, 1) } };
}

const asColumn = <T>(a: Algebra<T>, x: T): T => a.reshape(x, [item(a.shapeOf(x), 0), 1]);
const asRow = <T>(a: Algebra<T>, x: T): T => a.reshape(x, [1, item(a.shapeOf(x), 0)]);

/** Q_left M Q_rightᵀ; a factor that is not dense is its diagonal. */
function times<T>(a: Algebra<T>, left: T, isLeft: boolean, m: T, right: T, isRight: boolean): T {
  const rows = isLeft ? a.matmul(left, m) : a.mul(asColumn(a, left), m);
  return isRight ? a.matmul(rows, a.transpose(right)) : a.mul(rows, asRow(a, right));
}

/** Both factors, moved one step along the gradient of the criterion on their group. */
function fittedPair<T>(
  a: Algebra<T>,
  left: T,
  right: T,
  m: T,
  [isLeft = false, isRight = false]: readonly boolean[],
  rate: number,
): readonly T[] {
  const made = times(a, left, isLeft, m, right, isRight);
  const inverses = [isLeft ? inverseOfUpper(a, left) : left, isRight ? inverseOfUpper(a, right) : right];
  /** The mean of B Bᵀ over V, without the share of the other side. */
  const own = (i: number, isFull: boolean): T => {
    const x = item(inverses, i);
    return isFull ? a.matmul(a.transpose(x), x) : a.div(a.scalar(1), square(a, x));
  };
  const total = (x: T, isFull: boolean): T => (isFull ? a.sum(a.mul(x, a.identity(item(a.shapeOf(x), 0)))) : a.sum(x));
  const [ofLeft, ofRight] = [own(0, isLeft), own(1, isRight)];
  const sides = [
    { factor: left, isFull: isLeft, first: made, second: a.mul(ofLeft, total(ofRight, isRight)) },
    { factor: right, isFull: isRight, first: a.transpose(made), second: a.mul(ofRight, total(ofLeft, isLeft)) },
  ];
  return sides.map(({ factor, isFull, first, second }) => {
    if (isFull) return fittedTriangle(a, factor, a.matmul(first, a.transpose(first)), second, rate);
    const squares = a.reshape(a.sum(square(a, first), [1]), a.shapeOf(factor));
    const size = a.max(a.largest(a.add(squares, second)), a.scalar(TINY));
    return a.sub(factor, a.mul(factor, a.div(scale(a, a.sub(squares, second), rate), size)));
  });
}

function fittedTriangle<T>(a: Algebra<T>, factor: T, first: T, second: T, rate: number): T {
  const size = a.max(spectralBound(a, a.add(first, second)), a.scalar(TINY));
  const direction = a.div(scale(a, upperOf(a, a.sub(first, second)), rate), size);
  return a.sub(factor, a.matmul(direction, factor));
}

/** A lower bound of the largest eigenvalue of a symmetric matrix, from its longest column, as the authors' code has it. */
function spectralBound<T>(a: Algebra<T>, matrix: T): T {
  const largest = a.max(a.largest(a.abs(matrix)), a.scalar(TINY));
  const unit = a.div(matrix, largest);
  const lengths = a.sum(square(a, unit), [0]);
  const longest = a.equal(lengths, a.largest(lengths));
  const start = a.matmul(longest, a.transpose(unit));
  const along = a.matmul(start, unit);
  const length = a.max(norm(a, along), a.scalar(TINY));
  return a.mul(largest, norm(a, a.matmul(a.div(along, length), unit)));
}
