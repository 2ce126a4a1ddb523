/**
 * Templates of the field on conversations with all that they can hold: system and developer messages, tools and their
 * results, reasoning, contents in parts, documents, thinking on and off. Jinja2 renders the same.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import { chatTemplate } from "./chatTemplate.ts";
import type { ChatMessage } from "./chatTemplate.ts";

const missing = oracleMissing() ?? sharedFileMissing("templates");
const folder = sharedFile("templates");
const sources: readonly (readonly [string, string])[] = existsSync(folder)
  ? readdirSync(folder)
      .filter((name) => name.endsWith(".jinja"))
      .map((name) => [name, readFileSync(`${folder}/${name}`, "utf8")] as const)
  : [["no templates here", ""]];

type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
type Message = ChatMessage;

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: 'The weather at a place.\nIn "plain" words, <b>, é.',
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "Name of the city" },
        days: { type: "integer", description: "How many days", minimum: 1, maximum: 10, default: 1 },
        unit: { type: "string", enum: ["celsius", "fahrenheit"] },
        where: {
          type: "object",
          properties: { lat: { type: "number" }, lon: { type: "number", nullable: true } },
          required: ["lat"],
        },
        hours: { type: "array", items: { type: "integer" }, description: "Which hours" },
        either: { type: ["string", "null"], description: "One or none" },
      },
      required: ["city"],
    },
  },
};
const clock = {
  type: "function",
  function: { name: "clock", description: "What time it is.", parameters: { type: "object", properties: {} } },
};
const listed = { name: "listed", description: "Without its frame.", parameters: { type: "object", properties: {} } };
const TOOLS: Readonly<Record<string, readonly Value[] | null>> = {
  "no tools": null,
  "an empty list": [],
  "two tools": [weather, clock],
  "a bare tool": [listed],
};

const call = (id: string, name: string, args: Value): Value => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const user = (content: string): Message => ({ role: "user", content });
const called: Message = {
  role: "assistant",
  content: "",
  tool_calls: [call("c1", "get_weather", { city: "Köln", days: 2, where: { lat: 50.9, ok: true }, hours: [1, 2] })],
};
const result: Message = { role: "tool", name: "get_weather", tool_call_id: "c1", content: '{"sky": "grey"}' };
const CONVERSATIONS: Readonly<Record<string, readonly Message[]>> = {
  "one question": [user("What is 2 + 2?")],
  system: [
    { role: "system", content: "Be brief." },
    user("Hi"),
    { role: "assistant", content: "Hello!" },
    user("Why?"),
  ],
  developer: [{ role: "developer", content: "Be brief." }, user("Hi")],
  "a call and its result": [user("Weather?"), called, result],
  "a call, its result and an answer": [
    user("Weather?"),
    called,
    result,
    { role: "assistant", content: "Grey." },
    user("Thanks"),
  ],
  "two calls at once": [
    { role: "system", content: "Use tools." },
    user("Weather and time?"),
    {
      role: "assistant",
      content: "Let me look.",
      reasoning_content: "I need two.",
      tool_calls: [call("c1", "get_weather", { city: "Rom" }), call("c2", "clock", {})],
    },
    { ...result, content: "sunny" },
    { role: "tool", name: "clock", tool_call_id: "c2", content: "12:00" },
  ],
  "a call that is no message": [
    user("Weather?"),
    { role: "assistant", content: null, tool_calls: called.tool_calls ?? [] },
    result,
  ],
  "arguments as a text": [
    user("Weather?"),
    { role: "assistant", content: "", tool_calls: [call("c1", "get_weather", '{"city": "Bonn"}')] },
    result,
  ],
  reasoning: [
    user("Hi"),
    { role: "assistant", content: "Hello!", reasoning_content: "They greet.\n" },
    user("And?"),
    { role: "assistant", content: "<think>\nhm\n</think>\n\nWell.", reasoning_content: null },
    user("So?"),
  ],
  "the answer goes on": [user("Count."), { role: "assistant", content: "1, 2,", reasoning_content: "Easy." }],
  parts: [
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
    {
      role: "user",
      content: [
        { type: "text", text: "What" },
        { type: "text", text: " is it?" },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "It." }] },
    user("Why?"),
  ],
  "an image": [{ role: "user", content: [{ type: "image" }, { type: "text", text: "What is it?" }] }],
  "a result in parts": [user("Weather?"), called, { ...result, content: [{ type: "text", text: "grey" }] }],
  "no message": [],
};

const OPTIONS: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  plain: {},
  "thinking on": { enable_thinking: true, thinking: true },
  "thinking off": { enable_thinking: false, thinking: false },
  "kept thoughts": {
    clear_thinking: false,
    preserve_thinking: true,
    add_thoughts: true,
    truncate_history_thinking: false,
  },
  documents: { documents: [{ title: "A", text: "Text of a.", contents: "Text of a." }], reasoning_effort: "high" },
};

/** Variables that a single template asks for. */
const OF_ONE = { functions: "[]", datetime: "26 July" };

async function outcome(render: () => string | Promise<string>): Promise<string> {
  try {
    return await render();
  } catch (error) {
    return error instanceof Error ? "refused" : "";
  }
}

describe.skipIf(missing !== undefined)(`conversations by Jinja2 ${missing ?? ""}`, () => {
  const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };

  it.each(sources)("%s", async (_, source) => {
    const template = chatTemplate(source, words);
    let agreed = 0;
    const different: unknown[] = [];
    for (const [conversation, messages] of Object.entries(CONVERSATIONS))
      for (const [toolset, tools] of Object.entries(TOOLS))
        for (const [option, variables] of Object.entries(OPTIONS))
          // Every option with and without tools; other lists of tools once.
          for (const addGenerationPrompt of option !== "plain" && toolset !== "no tools" && toolset !== "two tools"
            ? []
            : option === "plain"
              ? [true, false]
              : [true]) {
            const expected = await outcome(() =>
              jinjaRender(source, {
                documents: null,
                ...variables,
                ...OF_ONE,
                tools: tools as never,
                messages,
                add_generation_prompt: addGenerationPrompt,
                bos_token: "<BOS>",
                eos_token: "<EOS>",
              } as never),
            );
            const options = {
              addGenerationPrompt,
              now: new Date(2024, 6, 26),
              variables: { ...variables, ...OF_ONE, tools } as never,
            };
            const got = await outcome(() => template.render(messages, options));
            if (got !== expected) different.push({ conversation, toolset, option, addGenerationPrompt, got, expected });
            else if (expected !== "refused") agreed += 1;
          }
    expect({ count: different.length, first: different[0] }).toEqual({ count: 0, first: undefined });
    expect(agreed).toBeGreaterThan(10);
  });
});
