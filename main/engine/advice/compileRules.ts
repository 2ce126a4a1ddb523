/** Advice about how a Core ML program is compiled: each names a lever of the target, and predicts with the route that it gives. */
import { NO_OPTIONS } from "../../backends/coreml/levers.ts";
import type { TargetOptions } from "../../backends/coreml/levers.ts";
import { partRows } from "../../backends/coreml/lowering/rowParts.ts";
import { aneEdge, chipOf, systemOf } from "../../backends/coreml/plan/target.ts";
import { keepsStates } from "../../backends/coreml/weights/forms.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { RUNTIMES } from "../../contract/views/graph.ts";
import { bytesFigure, grouped } from "../measure/forecast.ts";
import { secondsText } from "../measure/advice.ts";
import { counted } from "../words.ts";
import { originText } from "./origin.ts";
import type { AdviceRule, CostedRoute, Finding, Subject } from "./rule.ts";
import { routeSeconds } from "./seconds.ts";
import { nodesWith, percentText, stepText, workOf } from "./words.ts";

export const withOptions = (target: TargetSpec, options: Partial<TargetOptions>): TargetSpec => ({
  ...target,
  options: { ...NO_OPTIONS, ...target.options, ...options },
});

/** What the route of another target would gain, with what is said about it; undefined where it gains nothing. */
export async function improved(
  { route }: Subject,
  now: CostedRoute,
  target: TargetSpec,
  say: (after: CostedRoute) => Pick<Finding, "claim" | "ops" | "risk">,
): Promise<Finding | undefined> {
  const after = await route(target);
  if (routeSeconds(after) >= routeSeconds(now)) return undefined;
  const { claim, ...said } = say(after);
  return {
    ...said,
    claim: `${claim} ${originText(now, after)}`,
    before: now.cost.step,
    after: after.cost.step,
    change: { kind: "target", target },
  };
}

const rowsOf = (route: CostedRoute, node: number): number => {
  const weight = route.graph.nodes[node]?.inputs[1];
  const [rows] = (weight && route.graph.nodes[weight.node]?.outputs[weight.output]?.shape) ?? [];
  return typeof rows === "number" ? rows : 0;
};

/** The output matrix of a large vocabulary. */
export const splitRows: AdviceRule = {
  name: "split-rows",
  title: "Split the output matrix",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target, phase } = subject;
    if (target.options?.splitRows === true) return undefined;
    const limit = aneEdge(chipOf(target.chip));
    const now = await subject.route(target);
    const ops = nodesWith(now, "ane-size").filter(
      (node) => now.graph.nodes[node]?.op === "linear" && rowsOf(now, node) > limit,
    );
    const [first] = ops;
    if (first === undefined) return undefined;
    const rows = rowsOf(now, first);
    const parts = Math.ceil(rows / partRows(rows, limit));
    return improved(subject, now, withOptions(target, { splitRows: true }), () => ({
      claim: `${percentText(workOf(now, ops))} of ${stepText(phase)} is a matrix of ${grouped(rows)} rows off the Neural Engine, which takes ${grouped(limit)}. In ${parts} parts it runs there.`,
      ops,
      risk: "None for the numbers: every row is the same sum. The joined result still crosses to the CPU once.",
    }));
  },
};

/** Rows that a gather picks, in the middle of what the Neural Engine runs. */
export const islands: AdviceRule = {
  name: "islands",
  title: "Join the islands",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target, phase } = subject;
    if (target.options?.islands === true) return undefined;
    const now = await subject.route(target);
    const picks = nodesWith(now, "ane-gather").filter((node) => {
      const from = now.graph.nodes[node]?.inputs[0];
      return from !== undefined && now.graph.nodes[from.node]?.op !== "param";
    });
    const island = now.segments.find(
      (segment) => segment.index > 0 && segment.nodes.some((node) => picks.includes(node)),
    );
    if (island === undefined) return undefined;
    return improved(subject, now, withOptions(target, { islands: true }), (after) => ({
      claim: `${counted(island.nodes.length, "op")} on the CPU, ${percentText(island.workShare)} of the work, cut the program in two: they pick rows by index. As a product they stay with their neighbours, and ${stepText(phase)} has ${counted(after.hops.length, "hop")} instead of ${now.hops.length}.`,
      ops: island.nodes,
      risk:
        phase === "decode" ? "None: there is one row." : "A row that overflows f16 would spoil the one that is picked.",
    }));
  },
};

/** Caches through the host, where the system has states. */
export const states: AdviceRule = {
  name: "states",
  title: "Keep caches as states",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target, phase } = subject;
    const now = await subject.route(target);
    const { profile } = now.target;
    const { opset } = systemOf(target.os);
    const prefillUnits = target.options?.prefillUnits ?? null;
    const possible = !keepsStates(profile, opset, target.options?.states === true) && keepsStates(profile, opset, true);
    if (now.cacheBytes === 0 || !possible || prefillUnits !== null) return undefined;
    return improved(subject, now, withOptions(target, { states: true }), () => ({
      claim: `${bytesFigure(now.cacheBytes)} of caches go in and out for ${stepText(phase)}, ${secondsText(now.cost.caches.value)} of copying. As states they stay where they are.`,
      ops: now.graph.states.flatMap(({ output }) => (output.node === undefined ? [] : [output.node])),
      risk: "The Neural Engine has refused programs with states: what would run there goes to the other units.",
    }));
  },
};
