/** Learning rates by step. A schedule is a function of the step, which begins at 1. */
import { WorkbenchError } from "../diagnostics/errors.ts";

export type Schedule = (step: number) => number;

const check = (who: string, name: string, value: number, least: number, whole = false): number => {
  const fits = Number.isFinite(value) && value >= least && (!whole || Number.isInteger(value));
  if (fits) return value;
  const kind = whole ? "a whole number" : "a number";
  throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] ${name}: got ${value}, expected ${kind} from ${least}`);
};
const steps = (who: string, name: string, value: number, least = 1): number => check(who, name, value, least, true);

export const constant = (rate: number): Schedule => {
  check("constant", "rate", rate, 0);
  return () => rate;
};

/** From one rate to another in a straight line over so many steps, then constant. */
export function linear(from: number, to: number, over: number): Schedule {
  check("linear", "from", from, 0);
  check("linear", "to", to, 0);
  steps("linear", "over", over);
  return (step) => from + (to - from) * Math.min(1, (step - 1) / over);
}

/** Half a cosine from the rate down to `to` over so many steps (Loshchilov and Hutter 2017), then constant. */
export function cosine(rate: number, over: number, to = 0): Schedule {
  check("cosine", "rate", rate, 0);
  check("cosine", "to", to, 0);
  steps("cosine", "over", over);
  return (step) => to + ((rate - to) * (1 + Math.cos(Math.PI * Math.min(1, (step - 1) / over)))) / 2;
}

/** A straight line up to the schedule's first rate in so many steps; the schedule begins after it. */
export function warmUp(over: number, then: Schedule): Schedule {
  steps("warmUp", "over", over);
  return (step) => (step <= over ? (then(1) * step) / over : then(step - over));
}

/** The rate times `factor` after every `every` steps. */
export function stepDecay(rate: number, factor: number, every: number): Schedule {
  check("stepDecay", "rate", rate, 0);
  check("stepDecay", "factor", factor, 0);
  steps("stepDecay", "every", every);
  return (step) => rate * factor ** Math.floor((step - 1) / every);
}

/** Up in a straight line for so many steps, then down with 1 / √step (Vaswani et al. 2017); `rate` is the highest. */
export function inverseSqrt(rate: number, warmUpSteps: number): Schedule {
  check("inverseSqrt", "rate", rate, 0);
  steps("inverseSqrt", "warmUpSteps", warmUpSteps);
  return (step) => rate * Math.min(step / warmUpSteps, Math.sqrt(warmUpSteps / step));
}

export interface WsdOptions {
  readonly warmUp: number;
  readonly stable: number;
  readonly decay: number;
  readonly to?: number;
}

/** Warm up, stay, decay in a straight line (Hu et al. 2024): a run goes on from its stable part as long as it likes. */
export function warmUpStableDecay(rate: number, { warmUp: up, stable, decay, to = 0 }: WsdOptions): Schedule {
  check("warmUpStableDecay", "rate", rate, 0);
  check("warmUpStableDecay", "to", to, 0);
  for (const [name, value] of Object.entries({ warmUp: up, stable, decay })) steps("warmUpStableDecay", name, value, 0);
  return (step) => {
    if (step <= up) return (rate * step) / up;
    const left = up + stable + decay - step;
    return left >= decay ? rate : to + (rate - to) * Math.max(0, decay === 0 ? 0 : left / decay);
  };
}

export const scheduleOf = (rate: number | Schedule): Schedule => (typeof rate === "number" ? constant(rate) : rate);
