/** The numbers of each step of a pipeline, and the halving that finds the step which made something worse. */
import type { EngineHandlers } from "../../contract/contract.ts";
import { deviceOf } from "../../contract/views/common.ts";
import type { Backend, Bisection, StepNumbers, Watched } from "../../contract/views/graph.ts";
import { BUILT, LEGAL, LEGALISE, loweredOf, ROUTED, SEGMENT } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { figure } from "../measure/forecast.ts";
import type { CostAccess } from "../models/costs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { PipelineStep, StepNumbers as Numbers, StepsAsked } from "../models/pipelineSteps.ts";
import { halve, isWorse, numbersOf, OPS, stepsOf, valueOf } from "../models/pipelineSteps.ts";
import { stepDone } from "../models/stepDetails.ts";
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
        const known = await stepsOf(model, asked, signal);
        // Other things are counted in the end.
        const all = watched === "ops" ? known.filter(({ counts }) => counts === OPS) : known;
        const first = from === null ? 0 : all.findIndex(({ name }) => name === from);
        if (first < 0) {
          const names = all.map(({ name }) => name).join(", ");
          throw new WorkbenchError("INPUT_ARGUMENT", `[passes] from: got ${from ?? ""}, expected one of ${names}`);
        }
        return bisect(asked.backend, all.slice(first), watched, async (step) => ({
          ...(await numbersOf(model, asked, step, signal)),
          ops: opCount(step.graph),
        }));
      },
    },
    streams: {
      async *"passes.steps"({ model: id, ...input }, { signal }) {
        const model = store.get(id);
        const asked = await askedOf(input);
        const steps = await stepsOf(model, asked, signal);
        const counted = ({ graph, counts }: PipelineStep): number | null => (counts === OPS ? opCount(graph) : null);
        yield {
          kind: "list",
          steps: steps.map((step) => ({ name: step.name, counts: step.counts, ops: counted(step) })),
        };
        for (const [index, step] of steps.entries()) {
          const numbers = numbersView(await numbersOf(model, asked, step, signal));
          const { ops, says, details } = await stepDone(model, asked, step, signal);
          yield { kind: "numbers", index, ops, says, details: [...details], numbers };
        }
      },
    },
  };
}

export const numbersView = ({ hops, aneShare, seconds }: Numbers): StepNumbers => ({
  ...{ hops, aneShare },
  seconds: figure(seconds, "seconds", "predicted", "the shortest way to the end from here: for comparing steps"),
});

const NAMES = {
  ane: "the ANE share",
  hops: "the number of hops",
  seconds: "the time",
  ops: "the number of ops",
} as const;

async function bisect(
  backend: Backend,
  steps: readonly PipelineStep[],
  watched: Watched,
  numbersAt: (step: PipelineStep) => Promise<Numbers & { readonly ops: number }>,
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
      sentence: `Nothing was lost: ${what} is ${text(first)} ${stepText(backend, nameAt(first))} ${end}. ${looked}`,
      ...{ seen, steps: steps.length },
    };
  }
  const where = `${stepText(backend, nameAt(lostAt - 1))} and ${text(lostAt)} ${stepText(backend, nameAt(lostAt))}`;
  return {
    step: nameAt(lostAt),
    sentence: `${begin(what)} is ${text(lostAt - 1)} ${where}. ${looked}`,
    ...{ seen, steps: steps.length },
  };
}

function stepText(backend: Backend, name: string): string {
  if (name === BUILT) return "as built";
  if (name === LEGAL) return "once decomposed";
  if (name === LEGALISE) return "once legalised";
  if (name === SEGMENT) return "once cut into segments";
  const { step, title } = loweredOf(backend);
  return name === step ? `as ${title === "MIL" ? title : title.toLowerCase()}` : `after “${name}”`;
}

function valueText(watched: Watched, value: number): string {
  if (typeof watched === "object") {
    const device = deviceOf(value);
    return device === "none" ? "not placed" : `on ${device === "host" ? "the host" : device.toUpperCase()}`;
  }
  if (watched === "ane") return `${(value * 100).toFixed(1)} %`;
  if (watched !== "seconds") return String(value);
  return value < 1e-3 ? `~${(value * 1e6).toPrecision(3)} µs` : `~${(value * 1e3).toPrecision(3)} ms`;
}
