/** Every optimiser, one line each, by the name that files and commands know it by. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { adafactor } from "./adafactor.ts";
import { adam, adamw, nadamw, qhadamw, radam } from "./adam.ts";
import { kron } from "./kron.ts";
import { lamb } from "./lamb.ts";
import { lion } from "./lion.ts";
import { mars } from "./mars.ts";
import { muon } from "./muon.ts";
import type { Optimizer, OptionValue } from "./optimizer.ts";
import { scheduleFreeAdamw } from "./scheduleFree.ts";
import { sgd } from "./sgd.ts";
import { soap } from "./soap.ts";
import { sophia } from "./sophia.ts";

export const OPTIMIZERS = {
  sgd,
  adam,
  adamw,
  nadamw,
  radam,
  qhadamw,
  lamb,
  adafactor,
  lion,
  soap,
  kron,
  muon,
  sophia,
  mars,
  scheduleFreeAdamw,
} as const;
export type OptimizerName = keyof typeof OPTIMIZERS;
export const OPTIMIZER_NAMES = Object.keys(OPTIMIZERS) as readonly OptimizerName[];

/** An optimiser by name, with options as a file has them. */
export function optimizerNamed(name: string, options: Readonly<Record<string, OptionValue>> = {}): Optimizer {
  const make = (OPTIMIZERS as Readonly<Record<string, ((given: never) => Optimizer) | undefined>>)[name];
  if (make === undefined || !OPTIMIZER_NAMES.includes(name as OptimizerName))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[optimizer] got ${name}, expected one of ${OPTIMIZER_NAMES.join(", ")}`,
    );
  // Every factory checks names and ranges of what it is given.
  return make(options as never);
}
