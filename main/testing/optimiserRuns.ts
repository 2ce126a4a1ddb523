/**
 * Every optimiser for 200 steps on a device, from gradients in f32, beside what it means in float64: three problems. Sophia is not
 * among them: its signs are drawn.
 */
import type { Arrays } from "./trainingProblems.ts";
import { derivativesOf, PROBLEMS } from "./trainingProblems.ts";
import { startOf, updateOnHost } from "../training/hostUpdate.ts";
import { OPTIMIZER_NAMES, optimizerNamed } from "../training/optimisers/index.ts";
import { TrainingSession } from "../training/session.ts";
import type { TrainingDevice } from "../training/trainingDevice.ts";

export interface OptimiserRun {
  readonly name: string;
  readonly lr: number;
  readonly steps: number;
}

/**
 * Optimisers whose steps keep their length never settle: around the minimum rounding grows until nothing can be compared. Their
 * rates are such that so many steps lead towards it.
 */
const RATES: Readonly<Record<string, number>> = { lion: 0.003, sgd: 0.05, muon: 0.003, lamb: 0.003, kron: 0.003 };
/** Sophia's case is in trainingSuite.ts. */
const OPTIMISER_RUNS: readonly OptimiserRun[] = [
  ...OPTIMIZER_NAMES.filter((name) => name !== "sophia").map((name) => ({ name, lr: RATES[name] ?? 0.01, steps: 200 })),
  ...["lamb", "kron"].map((name) => ({ name, lr: 0.01, steps: 30 })),
];
export const titledRuns = OPTIMISER_RUNS.map((one) => [`${one.steps} steps of ${one.name} at ${one.lr}`, one] as const);

/** In f32, SOAP divides rounding by rounding in directions that had no gradient yet, unless ε is above it. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, number>>>> = { soap: { epsilon: 1e-2 } };

/** The largest difference of a weight after the last step. */
export async function apartFromMeaning(
  device: TrainingDevice,
  { name, lr, steps }: OptimiserRun,
  isFused: boolean,
): Promise<number> {
  let worst = 0;
  for (const problem of PROBLEMS) {
    const optimizer = optimizerNamed(name, OPTIONS[name]);
    const rest = { lr, steps, optimizer: name === "muon" ? optimizerNamed("adamw") : optimizer };
    const groups = name === "muon" ? [{ rank: 2, optimizer }] : [];
    const initial = Object.fromEntries(Object.entries(problem.initial).map(([key, { data }]) => [key, data]));
    const graph = problem.graph("f32", "params");
    const session = new TrainingSession(graph, Object.keys(initial), initial, {
      ...{ lr, groups, device },
      optimizer: rest.optimizer,
    });
    if (isFused) session.withFusedOptimizer();
    const given = Object.fromEntries(Object.entries(problem.data).map(([key, { data }]) => [key, data]));
    for (let step = 1; step <= steps; step++) await session.step(given);
    const made = await session.params();
    const wanted = meaning(problem, rest, groups.length > 0 ? optimizer : rest.optimizer);
    for (const [key, { data }] of Object.entries(wanted))
      data.forEach((value, i) => (worst = Math.max(worst, Math.abs(value - made[key]!.data[i]!))));
    await session.dispose();
  }
  return worst;
}

function meaning(
  problem: (typeof PROBLEMS)[number],
  {
    lr,
    steps,
    optimizer,
  }: { readonly lr: number; readonly steps: number; readonly optimizer: ReturnType<typeof optimizerNamed> },
  ofMatrices: ReturnType<typeof optimizerNamed>,
): Arrays {
  const { gradients } = derivativesOf(problem);
  const keys = Object.keys(problem.initial);
  const own = keys.map((key) => (problem.initial[key]!.shape.length === 2 ? ofMatrices : optimizer));
  let states = keys.map((key, i) => startOf(own[i]!, problem.initial[key]!));
  for (let step = 1; step <= steps; step++) {
    const given = gradients(Object.fromEntries(keys.map((key, i) => [key, states[i]!.parameter])));
    states = states.map((state, i) => updateOnHost(own[i]!, state, given[keys[i]!]!, { step, learningRate: lr }));
  }
  return Object.fromEntries(keys.map((key, i) => [key, states[i]!.parameter]));
}
