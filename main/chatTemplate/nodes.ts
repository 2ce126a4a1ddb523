/** The syntax tree of the template language, as far as we look into it. */
import type { Interpreter } from "@huggingface/jinja";
import type { Arguments } from "./arguments.ts";
import { templateError } from "./budget.ts";
import type { RuntimeValue } from "./values.ts";

export type Statement = NonNullable<Parameters<Interpreter["evaluate"]>[0]>;

export interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface TemplateProgram extends Node {
  readonly type: "Program";
  readonly body: readonly Node[];
  /** The named ones, wherever they stand. */
  readonly blocks: ReadonlyMap<string, Node>;
}

/** The name of what a block has written, for the filters on it. No template can write it. */
export const CAPTURED = "(captured)";

/** A value in the place of an expression that has been evaluated already. */
export class Evaluated {
  readonly type = "Evaluated";
  readonly result: RuntimeValue;
  constructor(result: RuntimeValue) {
    this.result = result;
  }
}

export function asNode(value: unknown): Node {
  if (typeof value === "object" && value !== null && "type" in value && typeof value.type === "string")
    return value as Node;
  throw templateError("it has a form that is not known");
}
/** The nodes in a list, such as the body of a block. */
export function nodesOf(value: unknown): readonly Node[] {
  if (!Array.isArray(value)) throw templateError("it has a form that is not known");
  return value as readonly Node[];
}
export const asStatement = (node: Node): Statement => node;
/** A step with a known value. */
export const known = (result: RuntimeValue): Statement => new Evaluated(result);
export const nameOf = (node: Node): string => (typeof node["value"] === "string" ? node["value"] : "");

/** A filter on a value, as the parser would have written it. */
export function filterNode(name: string, value: RuntimeValue, { positional, named }: Arguments): Statement {
  const identifier = { type: "Identifier", value: name };
  const args = [
    ...positional.map((arg) => new Evaluated(arg)),
    ...[...named].map(([key, arg]) => ({
      type: "KeywordArgumentExpression",
      key: { type: "Identifier", value: key },
      value: new Evaluated(arg),
    })),
  ];
  const filter = args.length === 0 ? identifier : { type: "CallExpression", callee: identifier, args };
  return asStatement({ type: "FilterExpression", operand: new Evaluated(value), filter });
}

/** Expressions, whose values are written to the output; statements write their contents themselves. */
export function outputsOf(program: TemplateProgram): ReadonlySet<unknown> {
  const outputs = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (value instanceof Map) for (const [key, item] of value) [key, item].forEach(visit);
    else if (typeof value === "object" && value !== null)
      for (const [field, child] of Object.entries(value)) {
        if (Array.isArray(child) && BODIES.has(field))
          for (const item of child) if (!STATEMENTS.has(asNode(item).type)) outputs.add(item);
        visit(child);
      }
  };
  visit(program);
  return outputs;
}
const BODIES: ReadonlySet<string> = new Set(["body", "alternate", "defaultBlock"]);
const STATEMENTS: ReadonlySet<string> = new Set([
  "Program",
  "Set",
  "If",
  "For",
  "With",
  "Block",
  "OtherTemplate",
  "Macro",
  "CallStatement",
  "FilterStatement",
  "Break",
  "Continue",
]);
