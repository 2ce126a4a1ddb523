/** What each of the last steps of a pipeline did, in a sentence and line by line; of passes, their records say it. */
import { dispatchReport } from "../../compiler/legalise.ts";
import type { SupportState } from "../../compiler/support.ts";
import type { Device } from "../../contract/views/common.ts";
import type { StepDetail } from "../../contract/views/graph.ts";
import { LEGAL, LEGALISE, loweredOf, MOST_DETAILS, ROUTED, SEGMENT } from "../../contract/views/graph.ts";
import { leversOf, leversText } from "../../backends/coreml/levers.ts";
import { opCount } from "../views/textView.ts";
import { counted } from "../words.ts";
import type { OpenModel } from "./openModel.ts";
import type { PipelineStep, StepsAsked } from "./pipelineSteps.ts";
import { routeAt } from "./pipelineSteps.ts";
import { planSteps } from "./planText.ts";
import { inSlices } from "./taskCache.ts";

export interface StepDone {
  /** null where the runtime cannot run all of it. */
  readonly ops: number | null;
  readonly says: string;
  readonly details: readonly StepDetail[];
}

export async function stepDone(
  model: OpenModel,
  asked: StepsAsked,
  step: PipelineStep,
  signal: AbortSignal,
): Promise<StepDone> {
  const ops = opCount(step.graph);
  switch (step.name) {
    case LEGALISE:
      return { ops, ...(await verdicts(asked, step, signal)) };
    case LEGAL:
      return { ops, ...partsOf(step) };
    case SEGMENT:
      return { ops, ...(await segments(model, asked, step, signal)) };
    case loweredOf(asked.backend).step:
      return lowered(model, asked, step, signal);
    default:
      return { ops, says: "", details: [] };
  }
}

type Told = Omit<StepDone, "ops">;

const STATES: Readonly<Record<SupportState, string>> = {
  native: "as it is",
  decomposed: "in parts",
  unsupported: "no rule",
  undeclared: "no rule",
};

/** Each op gets its verdict: run as it is, in parts, or not by this runtime. */
async function verdicts(
  { backend, dispatch }: StepsAsked,
  { graph }: PipelineStep,
  signal: AbortSignal,
): Promise<Told> {
  const { entries, counts } = await inSlices(dispatchReport(graph, backend, dispatch), signal);
  const lines = new Lines();
  for (const { op, state, reason } of entries) lines.add({ name: op, what: STATES[state], why: reason });
  const without = counts.unsupported + counts.undeclared;
  const rest = backend === ROUTED.backend ? "stay on the host" : "cannot be run";
  return {
    says: `${counted(counts.native, "op")} as they are, ${counts.decomposed} in parts, ${without} without a rule${without === 0 ? "" : `, which ${rest}`}.`,
    details: lines.list((a, b) => ORDER.indexOf(b.what) - ORDER.indexOf(a.what) || b.count - a.count),
  };
}
const ORDER = [STATES.native, STATES.decomposed, STATES.unsupported];

function partsOf({ graph, blocked }: PipelineStep): Told {
  const taken = graph.nodes.filter(({ passes }) => passes.some((name) => name.startsWith("legalise for"))).length;
  const left = blocked === 0 ? "" : ` ${counted(blocked, "op")} left without a rule.`;
  return {
    says: `${taken === 0 ? "Nothing was taken apart." : `${counted(taken, "op")} made from the parts of others.`}${left}`,
    details: [],
  };
}

async function segments(model: OpenModel, asked: StepsAsked, step: PipelineStep, signal: AbortSignal): Promise<Told> {
  const { segments: all, hops, parts } = await routeAt(model, asked, step, signal);
  const host = parts.filter(({ side }) => side === "host").length;
  const where = host === 0 ? "" : `, ${counted(host, "part")} on the host`;
  return {
    says: `${counted(all.length, "segment")} with ${counted(hops.length, "hop")} between them${where}.`,
    details: all.slice(0, MOST_DETAILS).map(({ title, device, nodes, why }) => ({
      ...{ name: title, what: deviceWord(device), count: nodes.length, why },
    })),
  };
}

const deviceWord = (device: Device): string => (device === "host" ? "host" : device.toUpperCase());

async function lowered(
  model: OpenModel,
  asked: StepsAsked,
  step: PipelineStep,
  signal: AbortSignal,
): Promise<StepDone> {
  const { backend, target, phase } = asked;
  const lines = new Lines();
  if (backend === ROUTED.backend) {
    const route = await routeAt(model, asked, step, signal);
    const functions = route.lowered?.functions ?? [];
    let ops = 0;
    for (const { mil } of functions)
      for (const { type } of mil.operations)
        if (type !== "const") {
          ops++;
          lines.add({ name: type, what: "", why: "" });
        }
    const levers = leversText(leversOf(target));
    const how = levers === "" ? "" : `, with ${levers}`;
    const says = `${counted(ops, "MIL operation")} in ${counted(functions.length, "function")}${how}.`;
    return { ops, says, details: lines.list((a, b) => b.count - a.count) };
  }
  if (step.blocked > 0)
    return { ops: null, says: `The runtime cannot run ${counted(step.blocked, "op")} of it.`, details: [] };
  const plan = await planSteps(model, { backend, graph: step.graph, key: phase }, signal);
  for (const { kernel } of plan) lines.add({ name: kernel, what: "", why: "" });
  const says = `${plan.length} ${step.counts} for ${counted(opCount(step.graph), "op")}.`;
  return { ops: plan.length, says, details: lines.list((a, b) => b.count - a.count) };
}

/** Equal lines counted. */
class Lines {
  readonly #lines = new Map<string, StepDetail>();

  add(line: Omit<StepDetail, "count">): void {
    const key = JSON.stringify(line);
    this.#lines.set(key, { ...line, count: (this.#lines.get(key)?.count ?? 0) + 1 });
  }

  list(order: (a: StepDetail, b: StepDetail) => number): readonly StepDetail[] {
    return [...this.#lines.values()].sort(order).slice(0, MOST_DETAILS);
  }
}
