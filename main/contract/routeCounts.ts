/** Counts over a route that more than one face shows: the ops on devices and these together are the ops of the legal graph. */
import type { RouteView } from "./views/route.ts";

/** Of ops that stand in the graph and not in the program: constants, and equals of an operation before them. */
const NO_OPERATION = "no-operation";
export const NO_OPERATION_TITLE = "no operation";
export const NO_OPERATION_WORDS =
  "They stand in the graph and not in the program: what they give is a constant, or an equal operation before them gives it already.";

export function opsWithoutOperation({ nodes, strings }: Pick<RouteView, "nodes" | "strings">): number {
  const own = strings.indexOf(NO_OPERATION);
  return own < 0 ? 0 : nodes.rule.reduce((sum, rule) => (rule === own ? sum + 1 : sum), 0);
}
