/** Advice about the target of a Core ML program: its units, its weights, its context, and units of its own for prefill. */
import { UNITS, profileOf, systemOf } from "../../backends/coreml/plan/target.ts";
import type { Units } from "../../backends/coreml/plan/target.ts";
import { keepsStates } from "../../backends/coreml/weights/forms.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { RUNTIMES } from "../../contract/views/graph.ts";
import { bytesFigure } from "../measure/forecast.ts";
import { counted } from "../words.ts";
import { improved, withOptions } from "./compileRules.ts";
import type { AdviceRule, CostedRoute, Finding, Subject } from "./rule.ts";
import { routeSeconds } from "./seconds.ts";
import { nodesWith, percentText, stepText, timesText, tokensText, workOf } from "./words.ts";

const titleOf = (units: Units): string => UNITS.find(({ id }) => id === units)?.title ?? units;

/** The finding with the shortest time after. */
const best = (findings: readonly (Finding | undefined)[]): Finding | undefined =>
  findings.reduce<Finding | undefined>(
    (least, one) => (one !== undefined && (least === undefined || one.after.value < least.after.value) ? one : least),
    undefined,
  );

/** What is on a unit and would not be there: the nodes that change their device. */
const moved = (before: CostedRoute, after: CostedRoute): readonly number[] =>
  before.graph.nodes.length !== after.graph.nodes.length
    ? []
    : before.graph.nodes.flatMap(({ id }) => (before.nodes.device[id] === after.nodes.device[id] ? [] : [id]));

/** Other units with this system: those whose program can be made. */
async function amongUnits(
  subject: Subject,
  now: CostedRoute,
  targets: readonly TargetSpec[],
  say: (after: CostedRoute, target: TargetSpec) => Pick<Finding, "claim" | "ops" | "risk">,
): Promise<Finding | undefined> {
  const found: (Finding | undefined)[] = [];
  for (const target of targets) found.push(await improved(subject, now, target, (after) => say(after, target)));
  return best(found);
}

export const otherUnits: AdviceRule = {
  name: "units",
  title: "Use other compute units",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    const now = await subject.route(target);
    const prefillUnits = target.options?.prefillUnits ?? null;
    if (prefillUnits !== null || target.options?.states === true) return undefined;
    const others = UNITS.filter(({ id }) => id !== target.units).map(({ id }): TargetSpec => ({
      ...target,
      units: id,
    }));
    return amongUnits(subject, now, others, (after, { units }) => ({
      claim: `With "${titleOf(units)}" ${stepText(subject)} takes ${timesText(routeSeconds(now), routeSeconds(after))} less time than with "${titleOf(target.units)}".`,
      ops: moved(now, after),
      risk:
        units === "cpu"
          ? "Everything runs on the CPU."
          : units === "cpu-ane"
            ? "The GPU stays free; weights are f16 in the package."
            : "The GPU is busy with it, and draws more power than the Neural Engine.",
    }));
  },
};

export const prefillElsewhere: AdviceRule = {
  name: "prefill-units",
  title: "Run prefill on other units than decode",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target, phase } = subject;
    const passes = !keepsStates(profileOf(target), systemOf(target.os).opset, target.options?.states === true);
    if (phase !== "prefill" || !passes) return undefined;
    const now = await subject.route(target);
    const own = target.options?.prefillUnits ?? target.units;
    const others = UNITS.filter(({ id }) => id !== own).map(({ id }) => withOptions(target, { prefillUnits: id }));
    return amongUnits(subject, now, others, (after, { options }) => ({
      claim: `Prefill with "${titleOf(options?.prefillUnits ?? target.units)}" takes ${timesText(routeSeconds(now), routeSeconds(after))} less time for ${stepText(subject)}, with the same package; decode stays with "${titleOf(target.units)}".`,
      ops: moved(now, after),
      risk: "Two compiled models are loaded from one package, one for each function.",
    }));
  },
};

/** From this share of a step on a cache is worth a shorter context. */
const CACHE_SHARE = 0.1;
const SHORTEST = 512;

export const shorterContext: AdviceRule = {
  name: "context",
  title: "Take a shorter context",
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    const now = await subject.route(target);
    const { context } = now.target;
    const shorter = Math.max(SHORTEST, 2 ** Math.floor(Math.log2(context / 4)));
    if (shorter >= context) return undefined;
    const found = await improved(subject, now, { ...target, context: shorter }, (after) => ({
      claim: `A program has one context, and ${stepText(subject)} reads all of it: ${tokensText(context)}. With ${tokensText(shorter)}, ${bytesFigure(now.cacheBytes - after.cacheBytes)} of caches less go in and out.`,
      ops: now.graph.nodes.filter(({ op }) => op === "attention" || op === "kv_append").map(({ id }) => id),
      risk: `A conversation ends after ${tokensText(shorter)}.`,
    }));
    if (found === undefined) return undefined;
    return found.before.value - found.after.value < CACHE_SHARE * found.before.value ? undefined : found;
  },
};

/** Share of the work that a rule must keep off the Neural Engine before weights are blamed for it. */
const BLAMED = 0.2;

const otherProfile = (
  name: string,
  title: string,
  rule: "ane-fp32" | "ane-block-weights",
  say: (share: string, ops: number) => string,
  risk: string,
): AdviceRule => ({
  name,
  title,
  backends: [RUNTIMES.coreml],
  async find(subject) {
    const { target } = subject;
    const reaches = target.units === "cpu-ane" || target.units === "all";
    if (!reaches) return undefined;
    const now = await subject.route(target);
    const ops = nodesWith(now, rule);
    const share = workOf(now, ops);
    if (share < BLAMED) return undefined;
    return improved(subject, now, { ...target, profile: "ane" }, () => ({
      claim: say(percentText(share), ops.length),
      ops,
      risk,
    }));
  },
});

export const floatsInHalf = otherProfile(
  "half-floats",
  "Compute in f16",
  "ane-fp32",
  (share, ops) =>
    `${counted(ops, "op")}, ${share} of the work, compute in f32, which the Neural Engine has not. In f16 it runs them.`,
  "Sums are rounded to f16: within 0.1 % of the exact distribution in our tests.",
);

export const scalesPerBlock = otherProfile(
  "block-scales",
  "Store weights without block scales",
  "ane-block-weights",
  (share, ops) =>
    `${counted(ops, "op")}, ${share} of the work, have weights with a scale per block, which keeps them off the Neural Engine. In f16 it reads them directly.`,
  "The package is larger: 16 bits a weight.",
);
