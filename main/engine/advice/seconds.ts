/** Seconds that advice is reckoned in: spans of the one cost model (main/compiler/cost). */
import type { Seconds } from "../../compiler/cost/seconds.ts";
import type { CostedRoute } from "./rule.ts";

/** What is likely and what is possible. */
export type Span = Seconds;

export const routeSeconds = ({ cost }: CostedRoute): number => cost.step.value;

/** What is gained: both ends move together, because a fast machine is fast before and after. */
export function gainSpan(before: Span, after: Span): Span {
  const value = before.value - after.value;
  const all = [value, before.low - after.low, before.high - after.high];
  return { value, low: Math.min(...all), high: Math.max(...all) };
}
