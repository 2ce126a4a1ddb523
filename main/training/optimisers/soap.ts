/**
 * SOAP (Vyas et al. 2024): Adam in the eigenbasis of Shampoo's preconditioner. Its factors are written over the algebra
 * (factors.ts), so that they run on the device, too: the first basis by Jacobi's method, later ones by a power iteration and
 * an orthogonalisation, as the authors do it.
 */
import type { Algebra } from "../algebra.ts";
import { average, item, scale, square } from "../algebra.ts";
import { asMatrix } from "./adafactor.ts";
import { moments } from "./adam.ts";
import { descending, eigenvectors, estimates, orthonormal, trace } from "./factors.ts";
import type { Given, Optimizer, Slot } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface SoapOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  /** Of the two preconditioners. */
  readonly shampooBeta?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  /** Steps from one basis to the next. */
  readonly interval?: number;
  /** A longer side of a matrix keeps its own basis. */
  readonly longestSide?: number;
}

const DEFAULTS = {
  beta1: 0.95,
  beta2: 0.95,
  shampooBeta: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  interval: 10,
  longestSide: 10_000,
};
const RULES = {
  beta1: DECAY,
  beta2: DECAY,
  shampooBeta: DECAY,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  interval: { least: 1, whole: true },
  longestSide: { least: 1, whole: true },
} as const;

/** The two sides of a matrix: its rows turn by the left basis, its columns by the right one. */
const SIDES = ["left", "right"] as const;
type Side = (typeof SIDES)[number];
const sumName = (side: Side): string => `${side}Sum`;
const basisName = (side: Side): string => `${side}Basis`;

/**
 * L, R: averages of G Gᵀ and Gᵀ G; Q their eigenvectors; Adam on Qᵀ G Q, its momentum kept unturned. As in the authors' code,
 * the first step only makes the basis, the bias of √v is taken out of the rate, and vectors are not turned. Decay is AdamW's.
 */
export function soap(given: SoapOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("soap", DEFAULTS, given, RULES);
  const { beta1, beta2, shampooBeta, epsilon, weightDecay, interval, longestSide } = options;
  const sidesOf = (shape: readonly number[]): readonly Side[] => {
    const matrix = asMatrix(shape);
    return matrix === undefined ? [] : SIDES.filter((_, i) => item(matrix, i) <= longestSide);
  };
  return {
    name: "soap",
    options,
    slots: (shape) => [...moments(shape), ...sidesOf(shape).flatMap((side) => sideSlots(side, shape))],
    scalars: ({ step, learningRate }) => {
      const turns = Math.max(1, step - 1);
      const rate = (learningRate * Math.sqrt(1 - beta2 ** turns)) / (1 - beta1 ** turns);
      return {
        first: step === 1 ? 1 : 0,
        refresh: step > 1 && turns % interval === 0 ? 1 : 0,
        // The first step only makes the basis.
        step: step === 1 ? 0 : rate,
        learningRate: step === 1 ? 0 : learningRate,
        keep1: step === 1 ? 1 : beta1,
        keep2: step === 1 ? 1 : beta2,
      };
    },
    update(a, all) {
      const shape = a.shapeOf(all.parameter);
      const sides = sidesOf(shape);
      const matrix = asMatrix(shape) ?? shape;
      const { slots, scalars } = all;
      const turn = turning(a, sides, slots);
      const gradient = a.reshape(all.gradient, matrix);
      const first = mixed(a, a.reshape(of(slots, "first"), matrix), gradient, of(scalars, "keep1"));
      const turned = square(a, turn.there(gradient));
      const second = mixed(a, a.reshape(of(slots, "second"), matrix), turned, of(scalars, "keep2"));
      const inBasis = a.div(turn.there(first), a.add(a.sqrt(second), a.scalar(epsilon)));
      const step = a.mul(a.reshape(turn.back(inBasis), shape), of(scalars, "step"));
      const moved = a.sub(all.parameter, step);
      const parameter = a.sub(moved, a.mul(scale(a, all.parameter, weightDecay), of(scalars, "learningRate")));
      const next = { first: a.reshape(first, shape), second: a.reshape(second, shape) };
      if (sides.length === 0) return { parameter, slots: next };

      const sums = sides.map((side) => {
        const own = side === "left" ? gradient : a.transpose(gradient);
        return average(a, of(slots, sumName(side)), a.matmul(own, a.transpose(own)), shampooBeta);
      });
      const bases = sides.map((side) => of(slots, basisName(side)));
      const [latest, ...found] = newBases(a, scalars, sides, second, sums, bases);
      const kept = sides.flatMap((side, i) => [
        [sumName(side), item(sums, i)] as const,
        [basisName(side), item(found, i)] as const,
      ]);
      const secondNext = a.reshape(latest ?? second, shape);
      return { parameter, slots: { ...next, second: secondNext, ...Object.fromEntries(kept) } };
    },
  };
}

function sideSlots(side: Side, shape: readonly number[]): readonly Slot[] {
  const size = item(asMatrix(shape) ?? [1, 1], side === "left" ? 0 : 1);
  return [zeros(sumName(side), [size, size]), { name: basisName(side), shape: [size, size], initial: "identity" }];
}

/** old · keep + next · (1 − keep), where keep is a number of the step. */
const mixed = <T>(a: Algebra<T>, old: T, next: T, keep: T): T =>
  a.add(a.mul(old, keep), a.mul(next, a.sub(a.scalar(1), keep)));

/** Into the basis, and out of it. */
function turning<T>(
  a: Algebra<T>,
  sides: readonly Side[],
  slots: Given<T>["slots"],
): { readonly there: (x: T) => T; readonly back: (x: T) => T } {
  const apply = (x: T, isBack: boolean): T =>
    sides.reduce((now, side) => {
      const basis = of(slots, basisName(side));
      // Left: Qᵀ x, and back Q x. Right: x Q, and back x Qᵀ.
      const own = isBack === (side === "left") ? basis : a.transpose(basis);
      return side === "left" ? a.matmul(own, now) : a.matmul(now, own);
    }, x);
  return { there: (x) => apply(x, false), back: (x) => apply(x, true) };
}

/** The second moment and the bases: of eigenvectors at first, refreshed at times, and else as they were. */
function newBases<T>(
  a: Algebra<T>,
  scalars: Given<T>["scalars"],
  sides: readonly Side[],
  second: T,
  sums: readonly T[],
  bases: readonly T[],
): readonly T[] {
  const count = sides.length;
  const hasLeft = sides[0] === "left";
  const hasRight = sides.at(-1) === "right";
  const operands = [of(scalars, "refresh"), second, ...sums, ...bases];
  return a.choose(
    of(scalars, "first"),
    operands,
    (b, [, own, ...rest]) => {
      const found = rest.slice(0, count).map((sum) => eigenvectors(b, sum));
      return own === undefined ? found : [own, ...found];
    },
    (b, [refresh, ...rest]) =>
      refresh === undefined
        ? rest
        : b.choose(
            refresh,
            rest,
            (c, [own, ...matrices]) => {
              const made = matrices.slice(0, count).map((sum, i) => refreshed(c, sum, item(matrices, count + i)));
              const orders = made.map(({ order }) => order);
              let moved = own;
              if (moved !== undefined && hasLeft) moved = c.matmul(c.transpose(item(orders, 0)), moved);
              if (moved !== undefined && hasRight) moved = c.matmul(moved, item(orders, count - 1));
              const found = made.map(({ basis }) => basis);
              return moved === undefined ? found : [moved, ...found];
            },
            (_c, [own, ...matrices]) => {
              const kept = matrices.slice(count);
              return own === undefined ? kept : [own, ...kept];
            },
          ),
  );
}

/**
 * One power iteration from the basis that was, its columns in the order of their eigenvalues. A direction without any gradient
 * stays as it is.
 */
function refreshed<T>(a: Algebra<T>, sum: T, basis: T): { readonly order: T; readonly basis: T } {
  const order = descending(a, estimates(a, sum, basis));
  const sorted = a.matmul(basis, order);
  const next = a.matmul(a.div(sum, a.max(trace(a, sum), a.scalar(1e-30))), sorted);
  const isNothing = a.greater(a.scalar(1e-30), a.sum(square(a, next), [0]));
  return { order, basis: orthonormal(a, a.add(next, a.mul(sorted, isNothing))) };
}
