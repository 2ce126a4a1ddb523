/**
 * Parameter groups: which optimiser trains which parameter, and how fast. Rules are tried in order, by name or by rank; what no
 * rule takes goes to the session's own optimiser.
 */
import { matchesName } from "../formats/gguf/namePattern.ts";
import type { Optimizer } from "./optimisers/optimizer.ts";
import { adamw } from "./optimisers/adam.ts";
import type { MuonOptions } from "./optimisers/muon.ts";
import { muon } from "./optimisers/muon.ts";
import type { Schedule } from "./schedules.ts";
import { scheduleOf } from "./schedules.ts";

export interface GroupRule {
  /** Takes parameters whose name it matches; any name without it. */
  readonly name?: RegExp;
  /** Takes parameters that match one of these: parts of names, or patterns with `*`; any without them. */
  readonly names?: readonly string[];
  /** Takes parameters of this rank; any without it. */
  readonly rank?: number;
  readonly optimizer: Optimizer;
  /** The session's own without it. */
  readonly lr?: number | Schedule;
}

export interface Assigned {
  readonly optimizer: Optimizer;
  readonly rate: Schedule;
  /** Parameters of the same group have the same number. */
  readonly group: number;
}

/** For each parameter, in order. */
export function assign(
  parameters: readonly { readonly name: string; readonly shape: readonly number[] }[],
  rules: readonly GroupRule[],
  rest: { readonly optimizer: Optimizer; readonly lr: number | Schedule },
): readonly Assigned[] {
  return parameters.map(({ name, shape }) => {
    const found = rules.findIndex(
      (rule) =>
        (rule.name === undefined || name.search(rule.name) >= 0) &&
        (rule.names === undefined || rule.names.some((pattern) => matchesName(name, pattern))) &&
        (rule.rank === undefined || rule.rank === shape.length),
    );
    const { optimizer, lr = rest.lr } = rules[found] ?? rest;
    return { optimizer, rate: scheduleOf(lr), group: found < 0 ? rules.length : found };
  });
}

/** Muon for matrices, and AdamW, as the session's own optimiser, for the rest: how people use it. */
export const muonForMatrices = (
  lr: number | Schedule,
  options: MuonOptions = {},
): { readonly groups: readonly GroupRule[]; readonly optimizer: Optimizer } => ({
  groups: [{ rank: 2, optimizer: muon(options), lr }],
  optimizer: adamw(),
});
