/** The official client of OpenAI's API against models by chance: what it is given is what it understands. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OpenAI } from "../../testing/openaiServer.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SAMPLE } from "../../testing/commandFolder.ts";
import { writeTinyEmbedder } from "../../testing/tinyEmbedder.ts";
import { toolTemplate, writeTinyGguf } from "../../testing/tinyGguf.ts";
import type { TestServer } from "../../testing/openaiServer.ts";
import { testServer } from "../../testing/openaiServer.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-api-"));
let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  await writeTinyGguf(join(folder, "tiny.gguf"), { template: toolTemplate });
  await writeTinyGguf(join(folder, "endless.gguf"), { template: toolTemplate, endless: true });
  await writeTinyGguf(join(folder, "plain.gguf"));
  await writeTinyEmbedder(join(folder, "embedder.gguf"));
  server = await testServer({ models: [folder], context: 1024 });
  ({ client } = server);
  for (const text of ["h", "th"]) for (const id of await tokensOf(text)) noThoughts.logit_bias[id] = -100;
});
afterAll(async () => {
  await server.done();
  rmSync(folder, { recursive: true, force: true });
});

const messages = [{ role: "user", content: "Hello there" }] as const;
/** Weights by chance think no end of thoughts: without these tokens none begin. */
const noThoughts = { logit_bias: {} as Record<string, number> };
const tokensOf = async (text: string): Promise<readonly number[]> => {
  const path = join(folder, "tiny.gguf");
  const { model } = await server.harness.client.call("model.open", { source: { kind: "path", path } });
  const { tokens } = await server.harness.client.call("tokens.encode", { model, text });
  await server.harness.client.call("model.close", { model });
  return [...tokens];
};
const asked = { model: "tiny", messages: [...messages], max_completion_tokens: 12, seed: 7, temperature: 1.5 };
const tools: OpenAI.Chat.ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "forecast",
      parameters: {
        type: "object",
        properties: { city: { enum: ["Rom", "Köln"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
        required: ["city", "days"],
      },
    },
  },
];
const city = /^(?:Rom|Köln)$/u;
const schema = {
  type: "object",
  properties: { city: { enum: ["Rom", "Köln"] }, warm: { type: "boolean" } },
  required: ["city", "warm"],
  additionalProperties: false,
} as const;

describe("models", () => {
  it("lists what the folder has, and tells one", async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(["embedder", "endless", "plain", "tiny"]);
    expect(await client.models.retrieve("tiny")).toMatchObject({ id: "tiny", object: "model", owned_by: "rlx" });
    await expect(client.models.retrieve("none")).rejects.toThrow(OpenAI.NotFoundError);
  });
});

describe("chat", () => {
  it("answers with usage and timings, the same for the same seed", async () => {
    const first = await client.chat.completions.create(asked);
    const again = await client.chat.completions.create(asked);
    expect(again.choices[0]?.message.content).toBe(first.choices[0]?.message.content);
    expect(first.object).toBe("chat.completion");
    expect(["stop", "length"]).toContain(first.choices[0]?.finish_reason);
    const { usage } = again;
    // All but the last token of a prompt that was read before are known.
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe((usage?.prompt_tokens ?? 0) - 1);
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    const { timings } = again as unknown as { timings: Record<string, number> };
    expect(timings).toMatchObject({
      cache_n: usage?.prompt_tokens_details?.cached_tokens,
      prompt_n: 1,
      predicted_n: usage?.completion_tokens,
    });
    for (const name of ["prompt_ms", "prompt_per_second", "predicted_ms", "predicted_per_second", "first_token_ms"])
      expect(timings[name]).toBeGreaterThan(0);
  });

  it("takes -1 for no limit, and no other negative", async () => {
    const short = { grammar: 'root ::= "abcdef"' };
    for (const field of ["max_tokens", "max_completion_tokens"]) {
      const { choices } = await client.chat.completions.create({
        ...{ model: "tiny", messages: [...messages], ...short, [field]: -1 },
      });
      expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "abcdef" } });
      for (const limit of [-2, 0, 2 ** 21])
        await expect(
          client.chat.completions.create({ model: "tiny", messages: [...messages], [field]: limit }),
        ).rejects.toMatchObject({ status: 400, param: field, message: expect.stringContaining("-1 for no limit") });
    }
    const unlimited = { model: "tiny", prompt: "Once", max_tokens: -1, ...short };
    expect((await client.completions.create(unlimited)).choices[0]?.text).toBe("abcdef");
    await expect(client.completions.create({ ...unlimited, max_tokens: -2 })).rejects.toMatchObject({ status: 400 });
  });

  it("streams the same text, with usage where it is asked for", async () => {
    const whole = await client.chat.completions.create(asked);
    const stream = await client.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const finishes: unknown[] = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]?.finish_reason !== undefined && chunk.choices[0].finish_reason !== null)
        finishes.push(chunk.choices[0].finish_reason);
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(finishes).toEqual([whole.choices[0]?.finish_reason]);
    expect(usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
  });

  it("gives several choices, each with a seed of its own", async () => {
    const { choices, usage } = await client.chat.completions.create({ ...asked, n: 3 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
    expect(usage?.completion_tokens).toBeGreaterThan(12);
    expect(server.serving.log.last().at(-1)).toMatchObject({
      promptTokens: usage?.prompt_tokens,
      generatedTokens: usage?.completion_tokens,
    });
    const other = { ...asked, seed: 8 };
    const second = await client.chat.completions.create(other);
    expect(choices[1]?.message.content).toBe(second.choices[0]?.message.content);
  });

  it("tells log-probabilities of each token and of those beside it", async () => {
    const { choices } = await client.chat.completions.create({ ...asked, logprobs: true, top_logprobs: 3 });
    const entries = choices[0]?.logprobs?.content ?? [];
    expect(entries.length).toBeGreaterThan(0);
    for (const { logprob, top_logprobs: top, token, bytes } of entries) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top).toHaveLength(3);
      expect(Buffer.from(bytes ?? []).toString()).toBe(token);
    }
  });

  it("ends at a stop text, which is not part of the answer", async () => {
    const whole = await client.chat.completions.create({ ...asked, max_completion_tokens: 40 });
    const text = whole.choices[0]?.message.content ?? "";
    const stop = [...text].slice(5, 7).join("");
    const cut = await client.chat.completions.create({ ...asked, max_completion_tokens: 40, stop });
    expect(cut.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: text.slice(0, text.indexOf(stop)) },
    });
  });

  it("keeps what the model thought apart", async () => {
    const thinking = { ...asked, grammar: 'root ::= "<think>abc</think>de"', max_completion_tokens: 60 };
    const { choices, usage } = await client.chat.completions.create(thinking);
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "de", reasoning_content: "abc" } });
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(3);
    const texts = { content: "", reasoning_content: "" };
    for await (const chunk of await client.chat.completions.create({ ...thinking, stream: true }))
      for (const name of ["content", "reasoning_content"] as const)
        texts[name] += (chunk.choices[0]?.delta as Partial<typeof texts> | undefined)?.[name] ?? "";
    expect(texts).toEqual({ content: "de", reasoning_content: "abc" });
  });

  it("gives times of each token on request", async () => {
    const { timings, usage } = (await client.chat.completions.create({
      ...asked,
      timings_per_token: true,
    } as typeof asked)) as unknown as { timings: { token_ms: number[] }; usage: OpenAI.CompletionUsage };
    expect(timings.token_ms).toHaveLength(usage.completion_tokens);
    expect(timings.token_ms[0]).toBe(0);
    expect(timings.token_ms).toEqual(timings.token_ms.toSorted((a, b) => a - b));
  });
});

describe("tools", () => {
  const calling = { ...asked, max_completion_tokens: 300, tools, ...noThoughts };

  it("a tool that has to be called is called with arguments of its schema", async () => {
    for (const tool_choice of ["required", { type: "function", function: { name: "forecast" } }] as const) {
      const { choices } = await client.chat.completions.create({ ...calling, tool_choice, parallel_tool_calls: false });
      const call = choices[0]?.message.tool_calls?.[0];
      if (call?.type !== "function") throw new Error("no call");
      expect([choices[0]?.finish_reason, choices[0]?.message.content, call.function.name]).toEqual([
        "tool_calls",
        null,
        "forecast",
      ]);
      const given = JSON.parse(call.function.arguments) as { city: string; days: number };
      expect(given.city).toMatch(city);
      expect(given.days).toBeGreaterThanOrEqual(1);
    }
  });

  it("streams a call, and takes its result", async () => {
    const stream = client.chat.completions.stream({ ...calling, tool_choice: "required", parallel_tool_calls: false });
    const deltas: string[] = [];
    stream.on("tool_calls.function.arguments.delta", ({ arguments_delta: delta }) => deltas.push(delta));
    const { choices } = await stream.finalChatCompletion();
    const call = choices[0]?.message.tool_calls?.[0];
    // As they are written, and not all at the end.
    expect(deltas.filter((delta) => delta !== "").length).toBeGreaterThan(3);
    if (call?.type !== "function") throw new Error("no call");
    expect(JSON.parse(call.function.arguments)).toMatchObject({ city: expect.stringMatching(city) as string });
    const { id, type, function: called } = call;
    const next = await client.chat.completions.create({
      ...asked,
      tools,
      messages: [
        ...messages,
        { role: "assistant", tool_calls: [{ id, type, function: { name: called.name, arguments: called.arguments } }] },
        { role: "tool", tool_call_id: id, content: "sunny" },
      ],
    });
    expect(next.usage?.prompt_tokens).toBeGreaterThan(50);
  });

  it("calls have ids of their own in every choice and every answer, streamed or not", async () => {
    const forced = { ...calling, tool_choice: "required", parallel_tool_calls: false, n: 3 } as const;
    const ids: (string | undefined)[] = [];
    // The second time is the same question again, as where a history was trimmed.
    for (let time = 0; time < 2; time++) {
      const { choices } = await client.chat.completions.create(forced);
      ids.push(...choices.map(({ message }) => message.tool_calls?.[0]?.id));
    }
    for await (const { choices } of await client.chat.completions.create({ ...forced, stream: true }))
      for (const { delta } of choices)
        ids.push(...(delta.tool_calls ?? []).flatMap(({ id }) => (id === undefined ? [] : [id])));
    const [tool] = tools;
    if (tool?.type !== "function") throw new Error("no tool");
    const { name, parameters = {} } = tool.function;
    const responding = {
      ...{ model: "tiny", input: "Weather?", tool_choice: "required", parallel_tool_calls: false },
      ...{ max_output_tokens: 400, temperature: 0 },
      tools: [{ type: "function" as const, name, parameters, strict: true }],
    } satisfies OpenAI.Responses.ResponseCreateParams;
    const whole = await client.responses.create(responding);
    const streamed = await client.responses.stream(responding).finalResponse();
    for (const { output } of [whole, streamed])
      ids.push(...output.flatMap((item) => (item.type === "function_call" ? [item.call_id] : [])));
    expect(ids).toHaveLength(11);
    expect(new Set(ids).size).toBe(11);
    for (const id of ids) expect(id).toMatch(/^[a-z0-9]{9}$/u);
    expect(ids).not.toContain("call00001");
  });

  it.each([4, 20, 40])("a forced call that is cut after %d tokens is no text", async (limit) => {
    const cut = { ...calling, tool_choice: "required", max_completion_tokens: limit } as const;
    const { choices } = await client.chat.completions.create(cut);
    expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: null } });
    let text = "";
    let finish: unknown;
    for await (const chunk of await client.chat.completions.create({ ...cut, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason;
    }
    expect([text, finish]).toEqual(["", "length"]);
    const [tool] = tools;
    if (tool?.type !== "function") throw new Error("no tool");
    const { name, parameters = {} } = tool.function;
    const { output_text, status } = await client.responses.create({
      ...{ model: "tiny", input: "Weather?", tool_choice: "required", max_output_tokens: limit },
      tools: [{ type: "function", name, parameters, strict: true }],
    });
    expect([output_text, status]).toEqual(["", "incomplete"]);
  });

  it("the log says where a template leaves the tools out, and the answer comes all the same", async () => {
    const notes = new Map<string, readonly string[]>();
    const deaf = server.serving.log.listen(({ state, model }, beside) => {
      if (state === "done" && model !== null) notes.set(model, beside.notes);
    });
    for (const model of ["tiny", "plain"])
      await client.chat.completions.create({ ...asked, model, tools, max_completion_tokens: 2 });
    await expect
      .poll(() => [...notes])
      .toEqual([
        ["tiny", []],
        ["plain", ["The model is not told of its tools, so it cannot call them."]],
      ]);
    notes.clear();
    await client.chat.completions.create({ ...asked, model: "plain", max_completion_tokens: 2 });
    await expect.poll(() => [...notes]).toEqual([["plain", []]]);
    deaf();
  });

  it("is not told about tools that it must not call", async () => {
    const without = await client.chat.completions.create({ ...asked, max_completion_tokens: 1 });
    const none = await client.chat.completions.create({
      ...asked,
      tools,
      tool_choice: "none",
      max_completion_tokens: 1,
    });
    expect(none.usage?.prompt_tokens).toBe(without.usage?.prompt_tokens);
  });
});

describe("structured output", () => {
  it("is JSON that the schema takes, in chat and in responses", async () => {
    const chat = await client.chat.completions.create({
      ...asked,
      ...noThoughts,
      max_completion_tokens: 200,
      response_format: { type: "json_schema", json_schema: { name: "weather", schema, strict: true } },
    });
    const said = JSON.parse(chat.choices[0]?.message.content ?? "") as { city: string; warm: boolean };
    expect(said).toEqual({ city: expect.stringMatching(city) as string, warm: expect.any(Boolean) as boolean });
    const response = await client.responses.create({
      ...{ model: "plain", input: "Weather?", max_output_tokens: 200 },
      text: { format: { type: "json_schema", name: "weather", schema, strict: true } },
    });
    expect(Object.keys(JSON.parse(response.output_text) as object)).toEqual(["city", "warm"]);
  });
});

describe("completions", () => {
  it("goes on with a text and with its tokens alike", async () => {
    const input = { model: "tiny", max_tokens: 8, seed: 3, temperature: 1 };
    const text = await client.completions.create({ ...input, prompt: "Once", logprobs: 2 });
    const ids = await client.completions.create({ ...input, prompt: [...(await tokensOf("Once"))] });
    expect(ids.choices[0]?.text).toBe(text.choices[0]?.text);
    const logprobs = text.choices[0]?.logprobs;
    expect(logprobs?.tokens?.join("")).toBe(text.choices[0]?.text);
    expect(logprobs?.text_offset?.[0]).toBe(0);
    expect(Object.keys(logprobs?.top_logprobs?.[0] ?? {}).length).toBeGreaterThan(0);
  });

  it("logs what all prompts took", async () => {
    const { usage } = await client.completions.create({
      model: "tiny",
      prompt: ["One", "Two", "Three"],
      max_tokens: 4,
    });
    expect(server.serving.log.last().at(-1)).toMatchObject({
      promptTokens: usage?.prompt_tokens,
      generatedTokens: usage?.completion_tokens,
    });
  });

  it("streams several prompts", async () => {
    const stream = await client.completions.create({
      ...{ model: "tiny", prompt: ["Once", "Twice"], max_tokens: 4, seed: 3, stream: true },
    });
    const texts = ["", ""];
    for await (const { choices } of stream) for (const { index, text } of choices) texts[index] += text;
    const whole = await client.completions.create({ model: "tiny", prompt: "Twice", max_tokens: 4, seed: 3 });
    expect(texts[1]).toBe(whole.choices[0]?.text);
  });
});

describe("embeddings", () => {
  it("gives vectors of length 1, the same in both encodings", async () => {
    const input = { model: "embedder", input: ["a cat sits", "a small car"] };
    const packed = await client.embeddings.create(input);
    const plain = await client.embeddings.create({ ...input, encoding_format: "float" });
    expect(packed.data.map(({ index }) => index)).toEqual([0, 1]);
    const [vector = []] = plain.data.map(({ embedding }) => embedding);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(packed.data[0]?.embedding).toEqual(vector);
    expect(plain.usage.prompt_tokens).toBeGreaterThan(5);
  });

  it("refuses tokens and other dimensions by name", async () => {
    await expect(client.embeddings.create({ model: "embedder", input: [1, 2] })).rejects.toMatchObject({
      status: 400,
      param: "input",
    });
    await expect(client.embeddings.create({ model: "embedder", input: "a", dimensions: 7 })).rejects.toMatchObject({
      param: "dimensions",
    });
  });
});

describe("input that is refused says why", () => {
  it.each([
    ["nothing", [], "input: got an empty list"],
    ["many", Array.from({ length: 3000 }, () => "a"), "input: got 3000 texts, expected at most 2048"],
    ["an empty text", ["a", ""], "input: got an empty text at 1"],
    ["tokens", [1, 2], "input: got tokens, expected texts"],
  ])("embeddings of %s", async (_name, input, said) => {
    await expect(client.embeddings.create({ model: "embedder", input })).rejects.toMatchObject({
      ...{ status: 400, param: "input", code: "invalid_value", message: expect.stringContaining(said) },
    });
  });

  it("a token that the model does not have is named by its place in the prompt", async () => {
    const known = [...(await tokensOf("Once upon"))];
    await client.completions.create({ model: "tiny", prompt: known, max_tokens: 1 });
    await expect(
      client.completions.create({ model: "tiny", prompt: [...known, 99_999], max_tokens: 1 }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining(`token ${known.length}: got 99999`) });
  });

  it("a prompt that is none", async () => {
    await expect(client.completions.create({ model: "tiny", prompt: [] })).rejects.toMatchObject({
      message: expect.stringContaining("prompt: expected a text or the ids of tokens"),
    });
  });
});

describe("responses", () => {
  it("answers, and streams the same as named events", async () => {
    const input = { model: "tiny", input: "Hello", instructions: "Be brief.", max_output_tokens: 10, temperature: 0 };
    const whole = await client.responses.create(input);
    expect(whole.output_text).not.toBe("");
    expect(whole.usage?.output_tokens).toBeGreaterThan(0);
    const events: string[] = [];
    const stream = client.responses.stream(input);
    for await (const { type } of stream) events.push(type);
    const end = await stream.finalResponse();
    expect(end.output_text).toBe(whole.output_text);
    expect(events.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(["response.completed", "response.incomplete"]).toContain(events.at(-1));
  });

  it("calls functions, and takes their results", async () => {
    const [tool] = tools;
    if (tool?.type !== "function") throw new Error("no tool");
    const { name, parameters = {} } = tool.function;
    const functions = [{ type: "function", name, parameters, strict: true }] as const;
    const { output } = await client.responses.create({
      ...{ model: "tiny", input: "Weather?", tools: [...functions], tool_choice: { type: "function", name } },
      ...{ parallel_tool_calls: false, max_output_tokens: 400, temperature: 0 },
    });
    const call = output.find(({ type }) => type === "function_call");
    if (call?.type !== "function_call") throw new Error("no call");
    const { output_text } = await client.responses.create({
      model: "tiny",
      max_output_tokens: 4,
      input: [
        { role: "user", content: "Weather?" },
        { type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments },
        { type: "function_call_output", call_id: call.call_id, output: "sunny" },
      ],
    });
    expect(typeof output_text).toBe("string");
  });
});

describe("errors", () => {
  it.each([
    ["another model", { model: "gpt" }, OpenAI.NotFoundError, "model_not_found", "model"],
    ["a range", { temperature: 99 }, OpenAI.BadRequestError, "invalid_value", "temperature"],
    [
      "what it cannot serve",
      { functions: [{ name: "f" }] },
      OpenAI.BadRequestError,
      "unsupported_parameter",
      "functions",
    ],
    [
      "a picture",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
      OpenAI.BadRequestError,
      "unsupported_content",
      "messages.0.content.0",
    ],
    [
      "a prompt beyond the context",
      { messages: [{ role: "user", content: "x".repeat(3000) }] },
      OpenAI.BadRequestError,
      "context_length_exceeded",
      null,
    ],
    [
      "a broken schema",
      { response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "nothing" } } } },
      OpenAI.BadRequestError,
      "INPUT_ARGUMENT",
      null,
    ],
  ] as const)("names %s", async (_name, part, kind, code, param) => {
    for (const stream of [false, true]) {
      const failing = client.chat.completions.create({ ...asked, ...part, stream } as unknown as typeof asked);
      await expect(failing).rejects.toThrow(kind);
      await expect(failing).rejects.toMatchObject({ code, param });
    }
  });

  it("asks for the key", async () => {
    const stranger = new OpenAI({ baseURL: server.url, apiKey: "wrong-key", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toThrow(OpenAI.AuthenticationError);
  });
});

it("keeps keys and values in the type that it was started with", async () => {
  const packed = await testServer({ models: [SAMPLE, join(folder, "tiny.gguf")], cacheType: "q8_0", context: 256 });
  const said = { messages: [...messages], max_completion_tokens: 4 };
  const { choices } = await packed.client.chat.completions.create({ ...said, model: "rlx-sample" });
  expect(choices[0]?.message.content).not.toBe("");
  // Its heads are no whole blocks: proof that the type is asked for.
  const narrow = packed.client.chat.completions.create({ ...said, model: "tiny" });
  await expect(narrow).rejects.toThrow(/a q8_0 cache: got heads of \d+ numbers/);
  await packed.done();
});

describe("leaving", () => {
  it("an answer ends when its client leaves", async () => {
    const leaving = new AbortController();
    const stream = await client.chat.completions.create(
      { model: "endless", messages: [...messages], stream: true },
      { signal: leaving.signal },
    );
    let chunks = 0;
    for await (const _chunk of stream) if (++chunks === 5) leaving.abort();
    await expect.poll(() => server.serving.status().running?.answering, { timeout: 5000 }).toBe(0);
    expect(server.serving.log.last().at(-1)).toMatchObject({ state: "left", model: "endless" });
  });
});
