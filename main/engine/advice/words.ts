/** Words and numbers that claims are made of. */
import { sumOf } from "../../compiler/cost/seconds.ts";
import { grouped } from "../measure/forecast.ts";
import { shareOf } from "../measure/costFigures.ts";
import { stepTokens } from "../models/graphs.ts";
import type { CostedRoute, Subject } from "./rule.ts";

export const percentText = (share: number): string => {
  const percent = share * 100;
  return `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(1)} %`;
};

/** "a token", "a chunk of 64 tokens", of a graph without a model "a run": the step that times are of. */
export const stepText = ({ model, phase }: Pick<Subject, "model" | "phase">): string =>
  model.isGraphAlone ? "a run" : phase === "decode" ? "a token" : `a chunk of ${stepTokens(phase)} tokens`;

/** "1.8 ×": how much longer the first takes. */
export const timesText = (before: number, after: number): string => `${(before / after).toPrecision(2)} ×`;

export const tokensText = (tokens: number): string => `${grouped(tokens)} tokens`;

/** Share of these nodes in the time of a step. */
export const workOf = ({ cost }: CostedRoute, nodes: readonly number[]): number =>
  shareOf(sumOf(nodes.map((node) => cost.nodes.at(node))), cost);

/** Nodes with this rule as their verdict. */
export function nodesWith(route: CostedRoute, rule: string): readonly number[] {
  const numbers = new Set(route.verdicts.flatMap((verdict, i) => (verdict.rule === rule ? [i] : [])));
  return route.graph.nodes.flatMap(({ id }) =>
    route.nodes.device[id] !== 0 && numbers.has(route.nodes.verdict[id] ?? -1) ? [id] : [],
  );
}
