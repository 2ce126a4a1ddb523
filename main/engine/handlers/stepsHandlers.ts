/** The numbers of each step of a pipeline, and the halving that finds the step which made something worse. */
import type { EngineHandlers } from "../../contract/contract.ts";
import { deviceOf } from "../../contract/views/common.ts";
import type { Bisection, StepNumbers, Watched } from "../../contract/views/graph.ts";
import { BUILT, LEGAL, loweredOf, ROUTED } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { figure } from "../measure/forecast.ts";
import type { CostAccess } from "../models/costs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import type { PipelineStep, StepNumbers as Numbers, StepsAsked } from "../models/pipelineSteps.ts";
import { halve, isWorse, numbersOf, stepsOf, valueOf } from "../models/pipelineSteps.ts";
import { planSteps } from "../models/planText.ts";
import { routeOf } from "../models/routes.ts";
import { opCount } from "../views/textView.ts";
import { counted } from "../words.ts";

export interface StepsParts {
  readonly store: Pick<ModelStore, "get">;
  readonly costs: Pick<CostAccess, "dispatch" | "machineOf">;
}

export function stepsHandlers({ store, costs: { dispatch, machineOf } }: StepsParts): {
  readonly calls: Pick<EngineHandlers["calls"], "passes.bisect">;
  readonly streams: Pick<EngineHandlers["streams"], "passes.steps">;
} {
  const askedOf = async ({
    backend,
    target,
    phase,
  }: Pick<StepsAsked, "backend" | "target" | "phase">): Promise<StepsAsked> => ({
    ...{ backend, target, phase },
    dispatch: backend === ROUTED.backend ? "prefer-native" : dispatch,
    machine: await machineOf(target),
  });
  return {
    calls: {
      "passes.bisect": async ({ model: id, watched, from, ...input }, { signal }) => {
        const model = store.get(id);
        const asked = await askedOf(input);
        const all = await stepsOf(model, asked, signal);
        const first = from === null ? 0 : all.findIndex(({ name }) => name === from);
        if (first < 0) {
          const names = all.map(({ name }) => name).join(", ");
          throw new WorkbenchError("INPUT_ARGUMENT", `[passes] from: got ${from ?? ""}, expected one of ${names}`);
        }
        return bisect(all.slice(first), watched, (step) => numbersOf(model, asked, step, signal));
      },
    },
    streams: {
      async *"passes.steps"({ model: id, ...input }, { signal }) {
        const model = store.get(id);
        const asked = await askedOf(input);
        const steps = await stepsOf(model, asked, signal);
        yield { kind: "list", steps: steps.map(({ name, graph }) => ({ name, ops: opCount(graph) })) };
        for (const [index, step] of steps.entries())
          yield { kind: "numbers", index, numbers: numbersView(await numbersOf(model, asked, step, signal)) };
        const { counts } = loweredOf(asked.backend);
        yield { kind: "lowered", count: await loweredCount(model, asked, steps, signal), what: counts };
      },
    },
  };
}

const numbersView = ({ hops, aneShare, seconds }: Numbers): StepNumbers => ({
  ...{ hops, aneShare },
  seconds: figure(seconds, "seconds", "predicted", "the shortest way to the end from here: for comparing steps"),
});

async function loweredCount(
  model: OpenModel,
  { backend, target, phase }: StepsAsked,
  steps: readonly PipelineStep[],
  signal: AbortSignal,
): Promise<number | null> {
  if (backend === ROUTED.backend) {
    const { lowered } = await routeOf(model, target, phase, signal);
    const functions = lowered?.functions ?? [];
    return functions.reduce((n, { mil }) => n + mil.operations.filter(({ type }) => type !== "const").length, 0);
  }
  const legal = steps.find(({ name }) => name === LEGAL);
  if (legal === undefined || legal.blocked > 0) return null;
  return (await planSteps(model, { backend, graph: legal.graph, key: phase }, signal)).length;
}

const NAMES = {
  ane: "the ANE share",
  hops: "the number of hops",
  seconds: "the time",
  ops: "the number of ops",
} as const;

async function bisect(
  steps: readonly PipelineStep[],
  watched: Watched,
  numbersAt: (step: PipelineStep) => Promise<Numbers>,
): Promise<Bisection> {
  const nameAt = (index: number): string => steps[index]?.name ?? "";
  const valueAt = async (index: number): Promise<number> => {
    const step = steps[index];
    const value = step === undefined ? null : valueOf(watched, await numbersAt(step));
    if (value !== null) return value;
    const what = typeof watched === "object" ? "device" : watched;
    throw new WorkbenchError("INPUT_ARGUMENT", `[passes] watched: got ${what}, expected seconds or ops`, {
      hint: "This runtime has one device: nothing is placed and nothing crosses.",
    });
  };
  const { lostAt, values } = await halve(steps.length, watched, valueAt);
  const seen = [...values].sort(([a], [b]) => a - b).map(([index, value]) => ({ name: nameAt(index), value }));
  const text = (index: number): string => valueText(watched, values.get(index) ?? 0);
  const [first, last] = [0, steps.length - 1];
  const what = typeof watched === "object" ? "the op" : NAMES[watched];
  const begin = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
  const looked = `${counted(seen.length, "step")} of ${steps.length} looked at.`;
  if (lostAt === undefined) {
    const same = typeof watched === "object" || !isWorse(watched, values.get(last) ?? 0, values.get(first) ?? 0);
    const end = same ? `and is ${text(last)} at the end` : `and better at the end, ${text(last)}`;
    return {
      step: null,
      sentence: `Nothing was lost: ${what} is ${text(first)} ${stepText(nameAt(first))} ${end}. ${looked}`,
      ...{ seen, steps: steps.length },
    };
  }
  const where = `${stepText(nameAt(lostAt - 1))} and ${text(lostAt)} ${stepText(nameAt(lostAt))}`;
  return {
    step: nameAt(lostAt),
    sentence: `${begin(what)} is ${text(lostAt - 1)} ${where}. ${looked}`,
    ...{ seen, steps: steps.length },
  };
}

const stepText = (name: string): string =>
  name === BUILT ? "as built" : name === LEGAL ? "once legal" : `after “${name}”`;

function valueText(watched: Watched, value: number): string {
  if (typeof watched === "object") {
    const device = deviceOf(value);
    return device === "none" ? "not placed" : `on ${device === "host" ? "the host" : device.toUpperCase()}`;
  }
  if (watched === "ane") return `${(value * 100).toFixed(1)} %`;
  if (watched !== "seconds") return String(value);
  return value < 1e-3 ? `~${(value * 1e6).toPrecision(3)} µs` : `~${(value * 1e3).toPrecision(3)} ms`;
}
