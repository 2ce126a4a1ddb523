/**
 * Runs the statements of a block one after the other and collects what they write. `break` and
 * `continue` carry the text that was written before them.
 */
import { Environment } from "@huggingface/jinja";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { nodesOf } from "./nodes.ts";
import type { Node } from "./nodes.ts";
import { isUndefined, kindOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** What a statement needs of the interpreter. */
export interface Runner {
  readonly budget: TemplateBudget;
  /** The names of the whole template. */
  readonly root: Environment;
  readonly evaluate: (node: Node, environment: Environment) => RuntimeValue;
}

/** Ends a turn of a loop, or the loop. On its way it collects the text that the blocks it leaves have written. */
export class LoopEnd extends Error {
  readonly kind: "Break" | "Continue";
  text = "";
  constructor(kind: "Break" | "Continue") {
    super(kind);
    this.kind = kind;
  }
}

export function runBlock(body: unknown, environment: Environment, runner: Runner): string {
  let text = "";
  try {
    for (const statement of nodesOf(body)) {
      const result = runner.evaluate(statement, environment);
      if (typeof result.value === "string") text = added(text, result.value, runner.budget);
      else if (result.type !== "NullValue" && !isUndefined(result))
        throw templateError(`${kindOf(result)} is called as a block`);
    }
    return text;
  } catch (error) {
    if (error instanceof LoopEnd) error.text = added(text, error.text, runner.budget);
    throw error;
  }
}

export function added(text: string, more: string, { limits }: TemplateBudget): string {
  if (text.length + more.length > limits.textCharacters)
    throw templateError(`it writes more than ${limits.textCharacters} characters`);
  return text + more;
}

/** The text of a block that is not written where it stands. A `break` out of it loses that text. */
export function capture(body: unknown, environment: Environment, runner: Runner): string {
  try {
    return runBlock(body, new Environment(environment), runner);
  } catch (error) {
    if (error instanceof LoopEnd) error.text = "";
    throw error;
  }
}
