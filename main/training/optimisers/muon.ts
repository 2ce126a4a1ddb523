/**
 * Muon (Jordan et al. 2024): momentum, made orthogonal by five Newton-Schulz iterations. It is for matrices; vectors and tables
 * of embeddings go into a group of their own, with AdamW. Matrices are [outputs, inputs]; tensors of more axes, such as
 * kernels of convolutions, are matrices of the first axis by all others.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Algebra } from "../algebra.ts";
import { norm, scale } from "../algebra.ts";
import { asMatrix } from "./adafactor.ts";
import { decayed } from "./adam.ts";
import type { Optimizer } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

/**
 * How long a step is, by the matrix's size:
 *   original   √max(1, rows / columns), by the authors, PyTorch and optax
 *   matchRms   0.2 · √max(rows, columns), by Moonshot: as long as AdamW's steps, so its learning rates fit
 *   size       √max(rows, columns), the same without 0.2: every step has a root mean square of about 1
 */
export const MUON_SCALINGS = ["original", "matchRms", "size"] as const;
export type MuonScaling = (typeof MUON_SCALINGS)[number];

export interface MuonOptions {
  readonly momentum?: number;
  readonly nesterov?: boolean;
  readonly iterations?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  readonly scaling?: MuonScaling;
  /** Nesterov's mix as in NAdam, which optax has: it changes the first steps only. */
  readonly biasCorrection?: boolean;
}

type Chosen = Required<MuonOptions>;
const DEFAULTS: Chosen = {
  momentum: 0.95,
  nesterov: true,
  iterations: 5,
  epsilon: 1e-7,
  weightDecay: 0,
  scaling: "original",
  biasCorrection: false,
};
const RULES = {
  momentum: DECAY,
  nesterov: "flag",
  iterations: { least: 1, most: 20, whole: true },
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  scaling: MUON_SCALINGS,
  biasCorrection: "flag",
} as const;

const SCALINGS: Readonly<Record<MuonScaling, (rows: number, columns: number) => number>> = {
  original: (rows, columns) => Math.sqrt(Math.max(1, rows / columns)),
  matchRms: (rows, columns) => 0.2 * Math.sqrt(Math.max(rows, columns)),
  size: (rows, columns) => Math.sqrt(Math.max(rows, columns)),
};

/** m = μ m + g; O = NewtonSchulz(g + μ m); θ −= lr (scaling · O + λ θ). */
export function muon(given: MuonOptions = {}): Optimizer {
  const options = readOptions<Chosen>("muon", DEFAULTS, given, RULES);
  const { momentum, nesterov, weightDecay, scaling, biasCorrection } = options;
  return {
    name: "muon",
    options: { ...options },
    slots: (shape) => {
      if (asMatrix(shape) === undefined)
        throw new WorkbenchError("INPUT_ARGUMENT", `[muon] got a parameter [${shape.join(",")}], expected a matrix`, {
          hint: "Put vectors and numbers into a group of their own, with adamw.",
        });
      return [zeros("momentum", shape)];
    },
    scalars: ({ step, learningRate }) => {
      if (!biasCorrection) return { learningRate, ahead: nesterov ? momentum : 1, now: nesterov ? 1 : 0 };
      // Of a sum of gradients, which is an average divided by 1 − μ.
      const ofSum = (1 - momentum) / (1 - momentum ** (nesterov ? step + 1 : step));
      const now = nesterov ? (1 - momentum) / (1 - momentum ** step) : 0;
      return { learningRate, ahead: nesterov ? momentum * ofSum : ofSum, now };
    },
    update(a, all) {
      const { gradient, slots, scalars } = all;
      const sum = a.add(scale(a, of(slots, "momentum"), momentum), gradient);
      const mixed = a.add(a.mul(sum, of(scalars, "ahead")), a.mul(gradient, of(scalars, "now")));
      const shape = a.shapeOf(gradient);
      const [rows, columns] = asMatrix(shape) ?? [1, 1];
      const step = orthogonal(a, a.reshape(mixed, [rows, columns]), options);
      const scaled = a.reshape(scale(a, step, SCALINGS[scaling](rows, columns)), shape);
      return { parameter: decayed(a, all, scaled, weightDecay), slots: { momentum: sum } };
    },
  };
}

/** X ← 3.4445 X − 4.7750 (X Xᵀ) X + 2.0315 (X Xᵀ)² X, from X / (‖X‖ + ε); on the side that has fewer rows. */
function orthogonal<T>(a: Algebra<T>, matrix: T, { iterations, epsilon }: Pick<Chosen, "iterations" | "epsilon">): T {
  const [rows = 0, columns = 0] = a.shapeOf(matrix);
  const isTall = rows > columns;
  const wide = isTall ? a.transpose(matrix) : matrix;
  let x = a.div(wide, a.add(norm(a, wide), a.scalar(epsilon)));
  for (let i = 0; i < iterations; i++) {
    const products = a.matmul(x, a.transpose(x));
    const mixed = a.add(scale(a, products, -4.775), scale(a, a.matmul(products, products), 2.0315));
    x = a.add(scale(a, x, 3.4445), a.matmul(mixed, x));
  }
  return isTall ? a.transpose(x) : x;
}
