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

/** Types of a tool's parameters: models that write arguments without quotation marks leave them out. */
export type ParameterTypes = (tool: string, parameter: string) => Json | undefined;

/** From the JSON schemas of the tools, with or without the frame {"type": "function", "function": …}. */
export function parameterTypes(tools: readonly Json[]): ParameterTypes {
  const types = new Map<string, ReadonlyMap<string, Json>>();
  for (const tool of tools) {
    const inner = partOf(tool, "function") ?? tool;
    const name = partOf(inner, "name");
    const properties = partOf(partOf(inner, "parameters") ?? null, "properties");
    if (typeof name !== "string" || !isRecord(properties)) continue;
    const own = Object.entries(properties).map(([key, schema]) => [key, partOf(schema, "type") ?? null] as const);
    types.set(name, new Map(own));
  }
  return (tool, parameter) => types.get(tool)?.get(parameter);
}

export const isRecord = (value: unknown): value is CallArguments =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const partOf = (value: Json, key: string): Json | undefined =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
