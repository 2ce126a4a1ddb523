/** The rules of advice, in no order: what they find is sorted by what it gains. */
import { islands, palette, splitRows, states } from "./compileRules.ts";
import type { AdviceRule } from "./rule.ts";
import { fewerThreads, otherRuntime, quantisation } from "./runtimeRules.ts";
import { floatsInHalf, otherUnits, prefillElsewhere, scalesPerBlock, shorterContext } from "./targetRules.ts";

export const ADVICE_RULES: readonly AdviceRule[] = [
  splitRows,
  islands,
  states,
  palette,
  otherUnits,
  prefillElsewhere,
  shorterContext,
  floatsInHalf,
  scalesPerBlock,
  otherRuntime,
  fewerThreads,
  quantisation,
];
