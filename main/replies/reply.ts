/**
 * What an answer consists of: what the model thought, what it says, and the tools that it calls. The
 * marks between them are the model's own (families.ts), and reader.ts takes the text apart by them.
 */
import type { Json } from "../diagnostics/errors.ts";

/** A mark is text that only separates parts. */
export type ReplyPart = "answer" | "reasoning" | "call" | "mark";

export interface ReplyPiece {
  readonly part: ReplyPart;
  readonly text: string;
}

export type CallArguments = Readonly<Record<string, Json>>;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: CallArguments;
}

/** As it stands in the text. Few models give their calls an id. */
export interface WrittenCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: CallArguments;
}

export interface Reply {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly ToolCall[];
  /** What was not read as the model may have meant it, and why. */
  readonly notes: readonly string[];
}

/**
 * Types that a tool's parameter may have, as JSON schemas name them; undefined where the schema
 * leaves that open. Models that write arguments without quotation marks leave them out.
 */
export type ParameterTypes = (tool: string, parameter: string) => readonly string[] | undefined;

/** From the JSON schemas of the tools, with or without the frame {"type": "function", "function": …}. */
export function parameterTypes(tools: readonly Json[]): ParameterTypes {
  const types = new Map<string, ReadonlyMap<string, readonly string[] | undefined>>();
  for (const tool of tools) {
    const inner = partOf(tool, "function") ?? tool;
    const name = partOf(inner, "name");
    const properties = partOf(partOf(inner, "parameters") ?? null, "properties");
    if (typeof name !== "string" || !isRecord(properties)) continue;
    const own = Object.entries(properties).map(([key, schema]) => [key, typesOf(schema)] as const);
    types.set(name, new Map(own));
  }
  return (tool, parameter) => types.get(tool)?.get(parameter);
}

/** The types of what a schema takes; undefined where it does not say. */
export function typesOf(schema: Json, depth = 0): readonly string[] | undefined {
  const type = partOf(schema, "type");
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return (type as readonly Json[]).filter((each) => typeof each === "string");
  const constant = partOf(schema, "const");
  const values = constant === undefined ? partOf(schema, "enum") : [constant];
  if (Array.isArray(values)) return [...new Set((values as readonly Json[]).map(typeOfValue))];
  const choice = partOf(schema, "anyOf") ?? partOf(schema, "oneOf");
  if (!Array.isArray(choice) || depth > DEEPEST_CHOICE) return undefined;
  const all = (choice as readonly Json[]).map((each) => typesOf(each, depth + 1));
  return all.every((each) => each !== undefined) ? [...new Set(all.flat())] : undefined;
}
const DEEPEST_CHOICE = 20;

const typeOfValue = (value: Json): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "object" ? "object" : typeof value;

export const isTextOnly = (types: readonly string[]): boolean =>
  types.length > 0 && types.every((type) => type === "string");

export const isOfType = (value: Json, type: string): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOfValue(value) === type;

/** Those that have one. */
export const toolNames = (tools: readonly Json[]): readonly string[] =>
  tools.flatMap((tool) => {
    const name = partOf(partOf(tool, "function") ?? tool, "name");
    return typeof name === "string" ? [name] : [];
  });

export const isRecord = (value: unknown): value is CallArguments =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const partOf = (value: Json, key: string): Json | undefined =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
