/** The advice for a subject: what each rule finds, as the window and the command line show it, the largest gain first. */
import { leversOf, leversText } from "../../backends/coreml/levers.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { profileOf } from "../../backends/coreml/plan/target.ts";
import type { Ability, TargetSpec } from "../../contract/views/common.ts";
import { optionWords } from "../../contract/views/common.ts";
import type { Advice, AdviceChange, AdviceVerdict } from "../../contract/views/advice.ts";
import { BACKENDS, RUNTIMES } from "../../contract/views/graph.ts";
import { stableIds } from "../views/graphView.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { tasksOf } from "../models/taskCache.ts";
import { secondsFigure } from "../measure/costFigures.ts";
import { namedOp } from "../measure/verdict.ts";
import { besideSwitches } from "./origin.ts";
import type { AdviceRule, Finding, Subject } from "./rule.ts";
import type { Span } from "./seconds.ts";
import { gainSpan } from "./seconds.ts";
import { stepText } from "./words.ts";

/** What a rule found. */
export interface Found {
  readonly rule: AdviceRule;
  readonly finding: Finding;
}

/** Smaller gains are not worth a change, and no forecast tells them from none. */
const LEAST_SHARE = 0.05;
/** Of what mends the part that the verdict names: what it asks for is not kept back, though other parts take longer. */
const LEAST_OF_NAMED = 0.02;

const FOUND: TaskKind<readonly Found[]> = { name: "advice", keep: 8 };

/** Equal for subjects that get the same advice. */
export const subjectText = ({ backend, target, phase }: Pick<Subject, "backend" | "target" | "phase">): string => {
  const { chip, os, units, context } = target;
  const options = target.options?.prefillUnits ?? "";
  return [backend, phase, chip, os, units, profileOf(target), context, leversText(leversOf(target)), options].join(" ");
};

/** All that the rules find, sorted; worked out once for a subject. */
export function findAdvice(
  subject: Subject,
  rules: readonly AdviceRule[],
  signal: AbortSignal,
): Promise<readonly Found[]> {
  return tasksOf(subject.model).get(FOUND, `${subjectText(subject)} ${subject.threads}`, signal, async () => {
    const found: Found[] = [];
    const named = await namedBySubject(subject);
    for (const rule of rules) {
      if (!rule.backends.includes(subject.backend)) continue;
      const said = await rule.find(subject);
      const mends = said !== undefined && named !== undefined && said.ops.includes(named);
      const finding = said && (await besideSwitches(subject, said, mends));
      if (finding !== undefined && isWorth(finding, mends ? LEAST_OF_NAMED : LEAST_SHARE))
        found.push({ rule, finding });
    }
    return found.sort((a, b) => gainOf(b.finding).value - gainOf(a.finding).value);
  });
}

/** The op that the verdict names with a reason why it is on the CPU; only Core ML's targets have such reasons. */
async function namedBySubject({ backend, target, route }: Subject): Promise<number | undefined> {
  if (backend !== RUNTIMES.coreml) return undefined;
  const { graph, cost, nodes, verdicts } = await route(target);
  return namedOp({ graph, cost, placement: { ...nodes, verdicts } });
}

/** Whether the gain is large enough, and none of the ends of the forecast makes it a loss. */
function isWorth(finding: Finding, least: number): boolean {
  const { value, low } = gainOf(finding);
  return value >= least * finding.before.value && low >= 0;
}

const gainOf = ({ gain, before, after }: Finding): Span => gain ?? gainSpan(before, after);

const BASIS: Readonly<Record<AdviceChange["kind"], string>> = {
  target: "the cost model, with the route of either target",
  backend: "bytes against memory bandwidth, or arithmetic against the rate of the unit",
  threads: "from nothing, where memory decides, to a quarter, where the slowest core is waited for",
  quantize: "bytes against memory bandwidth",
};

export interface AdviceContext {
  readonly canMeasure: (change: AdviceChange) => Ability;
  readonly verdict: AdviceVerdict | null;
  /** The route of the subject, where it has one: its nodes get ids that survive passes. */
  readonly route: Route | undefined;
}

export function adviceView(subject: Subject, { rule, finding }: Found, context: AdviceContext): Advice {
  const { before, after, change, ops } = finding;
  const basis = `of ${stepText(subject)}: ${BASIS[change.kind]}`;
  const ids = context.route === undefined || ops.length === 0 ? undefined : stableIds(context.route.graph);
  return {
    rule: rule.name,
    title: rule.title,
    claim: finding.claim,
    ops: [...ops],
    ids: ids === undefined ? [] : ops.map((op) => ids[op] ?? 0),
    before: secondsFigure(before, basis),
    after: secondsFigure(after, basis),
    gain: secondsFigure(gainOf(finding), basis),
    change,
    applies: appliesText(subject, change),
    flags: flagsOf(subject.target, change),
    risk: finding.risk,
    canMeasure: context.canMeasure(change),
    verdict: context.verdict,
  };
}

/** Flags of the command line for what differs. */
function flagsOf(from: TargetSpec, change: AdviceChange): string | null {
  switch (change.kind) {
    case "target": {
      const { units, profile, context, options } = change.target;
      const words = optionWords(options);
      return [
        ...(units === from.units ? [] : ["--units", units]),
        ...(profile === from.profile ? [] : ["--profile", profile]),
        ...(context === from.context ? [] : ["--context", String(context)]),
        ...(words.join() === optionWords(from.options).join() ? [] : ["--options", words.join(",")]),
      ].join(" ");
    }
    case "backend":
      return `--device ${change.backend}`;
    case "threads":
      return `--threads ${change.threads}`;
    case "quantize":
      return null;
  }
}

function appliesText({ target, model }: Subject, change: AdviceChange): string {
  switch (change.kind) {
    case "target":
      return `Changes the target: ${flagsOf(target, change) ?? ""}.`;
    case "backend":
      return `Looks at the ${model.isGraphAlone ? "graph" : "model"} on ${BACKENDS.find(({ backend }) => backend === change.backend)?.title ?? change.backend}, and runs it there.`;
    case "threads":
      return `Runs with ${change.threads} threads.`;
    case "quantize":
      return `Opens Export, to write the file as ${change.recipe.toUpperCase()}.`;
  }
}
