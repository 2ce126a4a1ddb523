/**
 * Shared by both ways of asking: parameters within the model's limits, and the equivalent command
 * line.
 */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { CommandLine } from "../../session/command.ts";
import type { RunMode, RunParameters } from "./request.ts";
import { usableLines } from "./request.ts";

/** Samples of speed that a curve is drawn of. */
export const MAX_RATES = 240;

const freshSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

/**
 * The window's context length holds for runs too, unless this run asks for another. A seed is drawn here where none is
 * given: the command that is written down then gives the same answer.
 */
export function askedParameters(
  parameters: RunParameters,
  open: Pick<Overview, "context" | "samplingHints">,
): RunParameters & { readonly context: number; readonly seed: number; readonly hinted: readonly string[] } {
  const context = parameters.context ?? open.context.chosen;
  const seed = parameters.seed ?? freshSeed();
  const hinted = Object.keys(open.samplingHints.values);
  return { ...parameters, context, seed, hinted, maxTokens: Math.min(parameters.maxTokens, context) };
}

export function runCommand(mode: RunMode, prompt: string, parameters: RunParameters): CommandLine {
  const asked = { ...parameters, ...usableLines(parameters) };
  return mode === "chat" ? { kind: "chat", message: prompt, ...asked } : { kind: "run", prompt, ...asked };
}
