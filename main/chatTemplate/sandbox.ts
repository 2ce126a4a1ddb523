/**
 * Runs a chat template as what it is: an untrusted program. The interpreter is
 * @huggingface/jinja's, under the guard of interpreter.ts: work is counted, and sizes are limited
 * before anything large is made.
 */
import { Environment } from "@huggingface/jinja";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { TEMPLATE_LIMITS, TemplateBudget, templateError } from "./budget.ts";
import type { TemplateLimits } from "./budget.ts";
import { GLOBALS } from "./globals.ts";
import { GuardedInterpreter } from "./interpreter.ts";
import type { TemplateProgram } from "./nodes.ts";
import { parseProgram } from "./parser.ts";

export function parseTemplate(source: string, limits: TemplateLimits = TEMPLATE_LIMITS): TemplateProgram {
  if (source.length > limits.templateCharacters)
    throw templateError(`it is ${source.length} characters long, expected at most ${limits.templateCharacters}`);
  return guarded(() => parseProgram(source));
}

export function runTemplate(
  program: TemplateProgram,
  variables: Readonly<Record<string, unknown>>,
  limits: TemplateLimits = TEMPLATE_LIMITS,
): string {
  return guarded(() => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...constants, range: boundedRange(limits), ...variables }))
      environment.set(name, value);
    for (const [name, value] of GLOBALS) if (!environment.variables.has(name)) environment.setVariable(name, value);
    return new GuardedInterpreter(environment, program, new TemplateBudget(limits)).write();
  });
}

/** Before what a template says with raise_exception. */
export const REFUSAL = "it refuses this conversation: ";

const constants = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception(message: unknown): never {
    throw templateError(`${REFUSAL}${typeof message === "string" ? message.slice(0, 500) : "no reason given"}`);
  },
};

function boundedRange(limits: TemplateLimits): (start: unknown, stop?: unknown, step?: unknown) => number[] {
  return (first, second, third = 1) => {
    const [start, stop] = second === undefined ? [0, first] : [first, second];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(stop) || !Number.isSafeInteger(third) || third === 0)
      throw templateError("range() needs whole numbers, and a step that is not 0");
    const [from, to, step] = [Number(start), Number(stop), Number(third)];
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (count > limits.items) throw templateError(`range() of ${count} numbers, expected at most ${limits.items}`);
    return Array.from({ length: count }, (_, i) => from + i * step);
  };
}

/** Whatever the library throws becomes one kind of error, a stack that overflowed included. */
function guarded<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof WorkbenchError) throw error;
    if (error instanceof RangeError) throw templateError("it is nested too deep, or makes something too large", error);
    const message = error instanceof Error ? error.message.slice(0, 300) : "";
    throw templateError(message, error);
  }
}
