/** Predicted seconds as figures for people. */
import type { Seconds } from "../../compiler/cost/seconds.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import type { Figure } from "../../contract/views/common.ts";
import { figure } from "./forecast.ts";

export const secondsFigure = ({ value, low, high }: Seconds, basis: string): Figure =>
  figure(value, "seconds", "predicted", basis, { low, high });

/** Of the whole step. */
export const shareOf = ({ value }: Seconds, { step }: Pick<StepCost, "step">): number =>
  step.value === 0 ? 0 : value / step.value;
