/** What an op became in the program, and a rule as views name it. */
import type { Lowering } from "../../backends/coreml/hybrid/lowerings.ts";
import { RULES } from "../../backends/coreml/plan/rules.ts";
import type { LoweringView, RuleHit } from "../../contract/views/graph.ts";

/** A finding without a rule comes from the placement model. */
export function ruleHit(id: string, sentence: string): RuleHit {
  const rule = RULES.find((each) => each.id === id);
  return { id, verdict: rule?.verdict ?? "cost", sentence, source: rule?.source ?? "our placement model" };
}

export const loweringView = ({ operations, groups, follows }: Lowering): LoweringView => ({
  operations,
  groups: groups.map(({ operations: own, device, rule, reason, workShare }) => ({
    operations: own.map(({ type, count }) => ({ type, count })),
    device,
    rule: ruleHit(rule, reason),
    workShare,
  })),
  follows,
});
