/** Every optimiser against the papers' formulas in NumPy, and against optax where it has the optimiser: 200 steps, three problems. */
import { describe, expect, it } from "vitest";
import type { OracleTensor } from "../../testing/oracle.ts";
import { ask, numeric, oracleMissing, tensor } from "../../testing/oracle.ts";
import type { Arrays, TrainingProblem } from "../../testing/trainingProblems.ts";
import { derivativesOf, PROBLEMS } from "../../testing/trainingProblems.ts";
import { startOf, updateOnHost } from "../hostUpdate.ts";
import { OPTIMIZER_NAMES, optimizerNamed } from "./index.ts";
import type { OptionValue } from "./optimizer.ts";

const STEPS = 200;

interface Case {
  readonly name: string;
  readonly lr: number;
  readonly options?: Readonly<Record<string, OptionValue>>;
  /** Against optax as well, with what it does otherwise. */
  readonly optax?: true | Readonly<Record<string, OptionValue>>;
  readonly steps?: number;
}

// Optimisers whose steps keep their length never settle: around the minimum rounding grows until nothing can be compared. Their
// rates are such that 200 steps lead towards it.
const CASES: readonly Case[] = [
  { name: "sgd", lr: 0.05 },
  { name: "sgd", lr: 0.02, options: { momentum: 0.9 } },
  { name: "sgd", lr: 0.02, options: { momentum: 0.9, nesterov: true }, optax: true },
  { name: "sgd", lr: 0.02, options: { momentum: 0.9, weightDecay: 0.1 } },
  { name: "adam", lr: 0.01, optax: true },
  { name: "adam", lr: 0.01, options: { weightDecay: 0.1 } },
  { name: "adamw", lr: 0.01, options: { weightDecay: 0.1 }, optax: true },
  { name: "nadamw", lr: 0.01, optax: true },
  { name: "radam", lr: 0.01 },
  { name: "radam", lr: 0.01, optax: { threshold: 5 } },
  { name: "qhadamw", lr: 0.01 },
  { name: "qhadamw", lr: 0.01, options: { nu2: 0.9, beta1: 0.9 } },
  { name: "lamb", lr: 0.01, optax: true },
  { name: "adafactor", lr: 0.005, options: { decay: 0.7 } },
  { name: "adafactor", lr: 0.5, steps: 20 },
  { name: "adafactor", lr: 0.01, options: { relativeStep: false }, optax: true },
  { name: "adafactor", lr: 0.01, options: { relativeStep: false, leastFactored: 5 }, optax: true },
  { name: "lion", lr: 0.003, optax: true },
  { name: "soap", lr: 0.01 },
  { name: "soap", lr: 0.003, options: { interval: 25 } },
  { name: "kron", lr: 0.01 },
  { name: "kron", lr: 0.01, options: { fittedSteps: 20, rarer: 0.1, weightDecay: 0.1 } },
  { name: "kron", lr: 0.01, options: { longestSide: 4 } },
  { name: "muon", lr: 0.003 },
  { name: "muon", lr: 0.01, options: { scaling: "matchRms", nesterov: false } },
  { name: "muon", lr: 0.002, options: { scaling: "size", weightDecay: 0.1 } },
  { name: "muon", lr: 0.003, optax: { biasCorrection: true, epsilon: 1e-8 } },
  { name: "muon", lr: 0.01, optax: { biasCorrection: true, epsilon: 1e-8, scaling: "matchRms" } },
  { name: "sophia", lr: 0.01 },
  { name: "sophia", lr: 0.01, options: { biasCorrection: true, epsilon: 1e-8, clip: 0.5 } },
  { name: "mars", lr: 0.01 },
  { name: "mars", lr: 0.01, options: { vectors: true, gamma: 0.1 } },
  { name: "scheduleFreeAdamw", lr: 0.01 },
  { name: "scheduleFreeAdamw", lr: 0.01, options: { weightDecay: 0.1 }, optax: true },
];

/** Every parameter after each step. Muon leaves vectors to AdamW, as people use it; in optax that is NAdamW. */
function train(
  kind: "numpy" | "optax",
  problem: TrainingProblem,
  { name, lr, steps = STEPS }: Case,
  options: Case["options"] = {},
): readonly Arrays[] {
  const { gradients, curvature } = derivativesOf(problem);
  const own = optimizerNamed(name, options);
  const names = Object.keys(problem.initial);
  const ofVectors = optimizerNamed(kind === "optax" ? "nadamw" : "adamw");
  const optimizers = names.map((key) => (name === "muon" && problem.initial[key]!.shape.length < 2 ? ofVectors : own));
  let states = names.map((key, i) => startOf(optimizers[i]!, problem.initial[key]!));
  const path: Arrays[] = [];
  for (let step = 1; step <= steps; step++) {
    const now = Object.fromEntries(names.map((key, i) => [key, states[i]!.parameter]));
    const given = gradients(now);
    const bent = own.curvatureAt?.(step) === true ? curvature(now, step) : undefined;
    states = states.map((state, i) =>
      updateOnHost(optimizers[i]!, state, given[names[i]!]!, { step, learningRate: lr }, bent?.[names[i]!]),
    );
    path.push(Object.fromEntries(names.map((key, i) => [key, states[i]!.parameter])));
  }
  return path;
}

/** Of all three problems, by "problem/name": JAX is faster with one large step than with three. */
const together = (of: (problem: TrainingProblem) => Arrays): Record<string, OracleTensor> =>
  Object.fromEntries(
    PROBLEMS.flatMap((problem) =>
      Object.entries(of(problem)).map(([name, { shape, data }]) => [
        `${problem.name}/${name}`,
        tensor("f64", shape, data),
      ]),
    ),
  );

async function compare(kind: "numpy" | "optax", one: Case, options: Case["options"] = {}): Promise<void> {
  const { name, lr, steps = STEPS } = one;
  const [data, initial] = [together((problem) => problem.data), together((problem) => problem.initial)];
  const answer = (await ask("optim.run", { kind, name, steps, lr, options, data, initial })) as Readonly<
    Record<string, OracleTensor>
  >;
  for (const problem of PROBLEMS) {
    const mine = train(kind, problem, one, options);
    for (const [key, { data: start }] of Object.entries(problem.initial)) {
      const theirs = numeric(answer[`${problem.name}/${key}`]).data;
      expect(theirs.length).toBe(steps * start.length);
      let [worst, moved] = [0, 0];
      mine.forEach((arrays, step) =>
        arrays[key]!.data.forEach((value, i) => {
          const wanted = theirs[step * start.length + i]!;
          worst = Math.max(worst, Math.abs(value - wanted));
          moved = Math.max(moved, Math.abs(wanted - start[i]!));
        }),
      );
      expect(moved, `${problem.name} ${key} moves`).toBeGreaterThan(1e-3);
      expect(worst, `${problem.name} ${key} differs`).toBeLessThan(1e-6);
    }
  }
}

const title = ({ name, lr, options }: Case, more: Case["options"] = {}): string =>
  `${name} ${lr} ${JSON.stringify({ ...options, ...more })}`;

const missing = oracleMissing();
describe.skipIf(missing)(`200 steps of ${missing ?? "every optimiser"}`, () => {
  it("are tried for every optimiser", () => {
    expect(new Set(CASES.map(({ name }) => name))).toEqual(new Set(OPTIMIZER_NAMES));
  });

  const ofPaper = CASES.filter(({ optax }) => optax === undefined || optax === true);
  it.each(ofPaper.map((one) => [title(one), one] as const))("%s: the papers' formulas in NumPy", (_, one) =>
    compare("numpy", one, one.options),
  );

  const ofOptax = CASES.flatMap((one) =>
    one.optax === undefined ? [] : [[one, one.optax === true ? {} : one.optax] as const],
  );
  it.each(ofOptax.map(([one, more]) => [title(one, more), one, more] as const))("%s: optax", (_, one, more) =>
    compare("optax", one, { ...one.options, ...more }),
  );
});
