/** Tools that have to be called: a model with weights by chance calls them, from the library and from the engine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { BYTE_TOKENS } from "../../testing/byteVocabulary.ts";
import { toolTemplate, writeTinyGguf } from "../../testing/tinyGguf.ts";
import { openModel } from "./index.ts";
import type { ChatRequest, Model } from "./model.ts";

const parameters = {
  type: "object",
  properties: { city: { enum: ["Rom", "Köln"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"],
};
const TOOLS = [
  { type: "function", function: { name: "forecast", parameters } },
  { type: "function", function: { name: "time", parameters: { type: "object", properties: {} } } },
];
const messages = [{ role: "user", content: "Weather?" }] as const;

const folder = mkdtempSync(join(tmpdir(), "rlx-tool-choice-"));
const path = join(folder, "tools.gguf");
let model: Model;
let engine: Harness;
beforeAll(async () => {
  await writeTinyGguf(path, { template: toolTemplate });
  model = await openModel(path);
  engine = await engineHarness();
});
afterAll(async () => {
  await model.close();
  await engine.done();
  rmSync(folder, { recursive: true, force: true });
});

async function reply(asked: Partial<ChatRequest>, sampling: object = {}) {
  const session = await model.openSession({ context: 512 });
  try {
    const prompt: ChatRequest = { messages, tools: TOOLS, ...asked };
    const options = { maxTokens: 200, sampling: { temperature: 2, ...sampling } };
    for await (const event of session.generate(prompt, options))
      if (event.kind === "done") return { ...event.reply, reason: event.reason };
  } finally {
    session.dispose();
  }
  throw new Error("no end");
}

test("the tool that is named is called once, with arguments of its schema", async () => {
  for (let seed = 0; seed < 5; seed++) {
    // Without thoughts: with weights by chance they would not end.
    const bias = ["h", "th"].map((token) => ({ token, bias: -100 }));
    const { calls, content, notes, reason } = await reply({ toolChoice: "forecast" }, { seed, logitBias: bias });
    expect([content, notes, reason]).toEqual(["", [], "stop"]);
    expect(calls).toMatchObject([{ name: "forecast" }]);
    const { city, days } = calls[0]!.arguments;
    expect(["Rom", "Köln"]).toContain(city);
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9]).toContain(days);
  }
});

test("none: the model is not told about tools, and no text is a call", async () => {
  const grammar = `root ::= ${JSON.stringify('<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>')}`;
  expect(await reply({ toolChoice: "none" }, { grammar })).toMatchObject({ calls: [] });
  expect(await reply({ toolChoice: "auto" }, { grammar })).toMatchObject({ calls: [{ name: "time" }] });
  const length = async (toolChoice: string) => (await model.encode({ messages, tools: TOOLS, toolChoice })).length;
  expect(await length("none")).toBe((await model.encode({ messages })).length);
  expect(await length("required")).toBeGreaterThan(await length("none"));
});

test("refusals", async () => {
  const code = "INPUT_ARGUMENT";
  await expect(reply({ toolChoice: "required", tools: [] })).rejects.toMatchObject({ code });
  await expect(reply({ toolChoice: "sum" })).rejects.toThrow(/expected auto, none, required or one of forecast, time/);
  await expect(reply({ toolChoice: "time" }, { jsonSchema: {} })).rejects.toThrow(/expected one of them/);
  const odd = { name: "odd", parameters: { type: "object", properties: { a: { not: {} } } } };
  await expect(reply({ toolChoice: "odd", tools: [odd] })).rejects.toThrow(/^\[tools odd\] #\/properties\/a/);
});

test("marks that are control tokens are drawn as such, and read", async () => {
  const marks = ["section_begin", "section_end", "begin", "end"].map((name, i) =>
    i < 2 ? `<|tool_calls_${name}|>` : `<|tool_call_${name}|>`,
  );
  const other = join(folder, "marks.gguf");
  await writeTinyGguf(other, { template: `${toolTemplate}{# ${marks[0]} #}`, marks });
  const marked = await openModel(other);
  const session = await marked.openSession({ context: 512 });
  const prompt: ChatRequest = { messages, tools: TOOLS, toolChoice: "forecast" };
  const logitBias = [{ token: "<", bias: -100 }];
  const drawn: number[] = [];
  try {
    for await (const event of session.generate(prompt, {
      maxTokens: 200,
      sampling: { temperature: 2, seed: 4, logitBias },
    })) {
      if (event.kind === "token") drawn.push(event.id);
      if (event.kind === "done")
        expect(event.reply).toMatchObject({ calls: [{ name: "forecast" }], content: "", notes: [] });
    }
  } finally {
    session.dispose();
    await marked.close();
  }
  expect(drawn.filter((id) => id >= BYTE_TOKENS)).toEqual([0, 2, 3, 1].map((i) => BYTE_TOKENS + i));
});

test("the engine's runs take it", async () => {
  const { model: id } = await engine.client.call("model.open", { source: { kind: "path", path } });
  const items = await engine.all("run.start", {
    model: id,
    prompt: {
      kind: "chat",
      messages: [{ role: "user", content: "Weather?" }],
      tools: JSON.stringify(TOOLS),
      toolChoice: "time",
    },
    sampling: { seed: 5, temperature: 2, logitBias: ["h", "th"].map((token) => ({ token, bias: -100 })) },
    context: 512,
  });
  const done = items.find((item) => item.kind === "done");
  expect(done).toMatchObject({ reply: { calls: [{ name: "time", arguments: "{}" }], notes: [] } });
});
