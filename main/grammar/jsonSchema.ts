/** A JSON schema as a grammar: every text of the grammar is JSON that the schema takes. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Grammar } from "./rules.ts";
import { GRAMMAR_LIMITS, leftRecursive, RuleBuilder, rulesThatHold, tooLarge } from "./rules.ts";
import { checkDepth, SchemaWriter } from "./schemaWriter.ts";
import type { Json } from "./valueForm.ts";
import { jsonForm } from "./valueForm.ts";

/** The schema that a text says, not too large and not too deep. */
export function schemaOf(text: string): Json {
  if (text.length > GRAMMAR_LIMITS.text) throw tooLarge("characters", GRAMMAR_LIMITS.text);
  let schema: Json;
  try {
    schema = JSON.parse(text) as Json;
  } catch (error) {
    throw new WorkbenchError("INPUT_ARGUMENT", `[schema] this is no JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  checkDepth(schema);
  return schema;
}

export function jsonSchemaGrammar(text: string): Grammar {
  const schema = schemaOf(text);
  const builder = new RuleBuilder();
  const root = new SchemaWriter(schema, builder, { who: "schema", form: jsonForm(builder) }).root();
  return finished(builder, root.rule, "schema");
}

/** The grammar from a rule on, if all of its texts end. */
export function finished(builder: RuleBuilder, root: number, who: string): Grammar {
  const grammar = builder.finish(root);
  if (leftRecursive(grammar) === undefined && !onlyItself(grammar)) return grammar;
  throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] #: got a $ref that leads to itself, expected one that ends`);
}

/** Whether no text of the root ends: a reference to itself alone. */
const onlyItself = ({ rules, root }: Grammar): boolean => !rulesThatHold(rules, true).has(root);
