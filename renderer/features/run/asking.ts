/** What both ways of asking share: parameters within what the model can take, and the command line that asks the same. */
import type { Overview } from "../../../main/contract/views/model.ts";
import type { CommandLine } from "../../session/command.ts";
import type { RunMode, RunParameters } from "./request.ts";

/** Samples of speed that a curve is drawn of. */
export const MAX_RATES = 240;

/** The window's context length holds for runs too, unless this run asks for another. */
export function askedParameters(
  parameters: RunParameters,
  open: Pick<Overview, "context">,
): RunParameters & {
  readonly context: number;
} {
  const context = parameters.context ?? open.context.chosen;
  return { ...parameters, context, maxTokens: Math.min(parameters.maxTokens, context) };
}

export const runCommand = (mode: RunMode, prompt: string, asked: RunParameters): CommandLine =>
  mode === "chat" ? { kind: "chat", message: prompt, ...asked } : { kind: "run", prompt, ...asked };
