/** The subject that rules look at: routes of the open model with their costs, and what a step costs on each runtime. */
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import { isBoundByStarts, movedByStep } from "../../compiler/cost/stepCost.ts";
import { times } from "../../compiler/cost/seconds.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Backend } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import type { CostAccess } from "../models/costs.ts";
import { costOfRoute } from "../models/costs.ts";
import { stepTokens } from "../models/graphs.ts";
import type { OpenModel } from "../models/openModel.ts";
import { paletteErrorOf } from "../models/paletteError.ts";
import { routeOf } from "../models/routes.ts";
import type { StepForecast, Subject } from "./rule.ts";

export interface SubjectParts {
  readonly costs: CostAccess;
  readonly threads: number;
}

interface Asked {
  readonly model: OpenModel;
  readonly target: TargetSpec;
  readonly phase: Phase;
  readonly backend: Backend;
}

export function adviceSubject(
  parts: SubjectParts,
  asked: Asked & { readonly fastCores: number | undefined },
  signal: AbortSignal,
): Subject {
  const { model, phase } = asked;
  return {
    ...asked,
    route: async (target) => {
      const route = await routeOf(model, target, phase, signal);
      const machine = await parts.costs.machineOf(target);
      return { ...route, cost: await costOfRoute({ model, phase, machine }, route, signal) };
    },
    forecast: (backend) => stepForecast(parts, { ...asked, backend }, signal),
    paletteError: (bits) => paletteErrorOf(model, bits, signal),
    threads: parts.threads,
  };
}

async function stepForecast(
  { costs }: SubjectParts,
  { model, target, phase, backend }: Asked,
  signal: AbortSignal,
): Promise<StepForecast | undefined> {
  const subject = { backend, target };
  const cost = await costs.of(model, subject, phase, signal).then(
    ({ cost: known }): StepCost | undefined => known,
    (error: unknown) => {
      // A runtime that has no forecast, as where it cannot run an op, is not advised.
      if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_"))
        throw error;
      return undefined;
    },
  );
  if (cost === undefined) return undefined;
  // Runtimes read prompts in chunks of different sizes: all are told for the same one.
  const share = model.isGraphAlone ? 1 : stepTokens(phase) / cost.tokens;
  return {
    title: subjectTitle(subject),
    seconds: times(cost.step, share),
    bytes: movedByStep(cost) * share,
    short: isBoundByStarts(cost),
  };
}
