/**
 * The way there and back: Jinja2 writes an answer with the template of its model, and the reader takes it apart again.
 * What the template adds after the beginning of the turn is what the model was trained to write.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Json } from "../diagnostics/errors.ts";
import { GrammarAutomaton } from "../grammar/automaton.ts";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import { callGrammar } from "./callGrammar.ts";
import { replyStyle } from "./families.ts";
import { ReplyReader } from "./reader.ts";
import type { Reply } from "./reply.ts";
import { parameterTypes } from "./reply.ts";

const missing = oracleMissing() ?? sharedFileMissing("templates");
const folder = sharedFile("templates");
const names = existsSync(folder)
  ? readdirSync(folder).filter((name) => name.endsWith(".jinja"))
  : ["no templates here"];

/**
 * The family whose calls each writes, what ends its turns, and what begins them where that is not what a prompt ends
 * with. Phi-3.5 and RWKV have no calls, and Jinja2 refuses answers in Kimi-K2-Thinking.
 */
const FAMILIES: Readonly<Record<string, readonly [family: string | null, end: RegExp, begin?: string]>> = {
  "Bielik-11B-v3.0-Instruct.jinja": ["Hermes", /<\|im_end\|>\n$/u],
  "CohereForAI-c4ai-command-r-plus-tool_use.jinja": [
    "Command R",
    /(?:<\|END_OF_TURN_TOKEN\|>)?<\|START_OF_TURN_TOKEN\|><\|SYSTEM.*$/su,
    "<|CHATBOT_TOKEN|>",
  ],
  "GLM-4.7-Flash.jinja": ["GLM", /$/u, "<|assistant|>"],
  "GigaChat3.1-10B-A1.8B.jinja": ["GigaChat", /<\|message_sep\|>\n\n$/u],
  "MiMo-VL.jinja": ["Hermes", /<\|im_end\|>\n$/u],
  "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja": ["Qwen Coder", /<\|im_end\|>\n$/u],
  "Qwen-QwQ-32B.jinja": ["Hermes", /<\|im_end\|>\n$/u, "<|im_start|>assistant\n"],
  "Qwen3-Coder.jinja": ["Qwen Coder", /<\|im_end\|>\n$/u],
  "StepFun3.5-Flash.jinja": ["Qwen Coder", /<\|im_end\|>\n$/u],
  "deepseek-ai-DeepSeek-V3.1.jinja": ["DeepSeek", /<｜end▁of▁sentence｜>$/u],
  "fireworks-ai-llama-3-firefunction-v2.jinja": ["Firefunction", /<\|eot_id\|>.*$/su],
  "google-gemma-4-31B-it.jinja": ["Gemma 4", /(?:<\|tool_response>|<turn\|>\n)$/u],
  "llama-cpp-rwkv-world.jinja": [null, /\n*$/u],
  "microsoft-Phi-3.5-mini-instruct.jinja": [null, /<\|end\|>\n<EOS>$/u],
  "meta-llama-Llama-3.1-8B-Instruct.jinja": ["Llama 3", /<\|e(?:ot|om)_id\|>$/u],
  "moonshotai-Kimi-K2.jinja": ["Kimi", /<\|im_end\|>$/u],
  "unsloth-Apriel-1.5.jinja": ["Apriel", /\n<\|end\|>\n<EOS>$/u],
};

const TOOLS: readonly Json[] = ["get_weather", "clock"].map((name) => ({
  type: "function",
  function: {
    name,
    description: "A tool.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "c" },
        days: { type: "integer", description: "d" },
        hours: { type: "array", items: { type: "integer" }, description: "h" },
      },
      required: ["city"],
    },
  },
}));
const ARGUMENTS = { city: 'Köln "a"', days: 2, hours: [1, 2] };
const HARD_ARGUMENTS: readonly Json[] = [
  { city: "a\nb\n\n  c" },
  { city: "{\"x\": [1, 'y']}", days: -3 },
  { city: "日本 👍 \\ / ü", days: 0, hours: [] },
  { city: "<b> & </b>", hours: [10, -20, 30] },
  { city: "true", days: 12 },
  { city: "42" },
];
/** Templates that write one call; and those that leave out words beside it, or whose models think in words before it. */
const ONE_CALL_ONLY: ReadonlySet<string> = new Set([
  "GigaChat3.1-10B-A1.8B.jinja",
  "meta-llama-Llama-3.1-8B-Instruct.jinja",
]);
const WITHOUT_WORDS: ReadonlySet<string> = new Set([
  "meta-llama-Llama-3.1-8B-Instruct.jinja",
  "unsloth-Apriel-1.5.jinja",
]);
const call = (name: string, args: Json): Json => ({
  id: `functions.${name}:0`,
  type: "function",
  function: { name, arguments: args },
});

async function written(
  source: string,
  messages: readonly Json[],
  begins: boolean,
  tools: readonly Json[],
): Promise<string> {
  const values = {
    messages,
    tools,
    documents: null,
    add_generation_prompt: begins,
    bos_token: "<BOS>",
    eos_token: "<EOS>",
    functions: "[]",
    datetime: "today",
    enable_thinking: true,
    thinking: true,
  };
  return jinjaRender(source, values);
}

interface Written {
  readonly source: string;
  readonly prompt: string;
  readonly answer: string;
}

/** What the model would write for a message. */
async function answerOf(name: string, message: Json, tools: readonly Json[] = TOOLS): Promise<Written> {
  const source = readFileSync(`${folder}/${name}`, "utf8");
  const before: readonly Json[] = [{ role: "user", content: "Weather?" }];
  const [prompt, turn] = [
    await written(source, before, true, tools),
    await written(source, [...before, message], false, tools),
  ];
  let shared = 0;
  while (shared < prompt.length && prompt[shared] === turn[shared]) shared += 1;
  const [, end = /$/u, begin] = FAMILIES[name] ?? [];
  const from = begin === undefined ? shared : turn.lastIndexOf(begin) + begin.length;
  const answer = turn.slice(from).replace(end, "");
  return { source, answer, prompt: turn.slice(0, from) };
}

/** How that is read. */
async function readBack(name: string, message: Json, tools: readonly Json[] = TOOLS): Promise<Reply> {
  const { source, answer, prompt } = await answerOf(name, message, tools);
  const options = { prompt, hasTools: tools.length > 0, types: parameterTypes(tools), earlierCalls: 0 };
  const reader = new ReplyReader(replyStyle(source), options);
  for (const character of answer) reader.push(character);
  return reader.finish().reply;
}

describe.skipIf(missing !== undefined)(`answers as Jinja2 writes them ${missing ?? ""}`, () => {
  it.each(names.filter((name) => typeof FAMILIES[name]?.[0] === "string"))(
    "%s: a call and its arguments",
    async (name) => {
      const [family = null] = FAMILIES[name] ?? [];
      expect(replyStyle(readFileSync(`${folder}/${name}`, "utf8")).calls?.family).toBe(family);
      const reply = await readBack(name, {
        role: "assistant",
        content: "",
        tool_calls: [call("get_weather", ARGUMENTS)],
      });
      expect(reply.calls.map(({ name: tool, arguments: given }) => [tool, given])).toEqual([
        ["get_weather", ARGUMENTS],
      ]);
      expect([reply.content, reply.notes]).toEqual(["", []]);
    },
  );

  it.each(names.filter((name) => typeof FAMILIES[name]?.[0] === "string"))(
    "%s: arguments of every kind, several calls, words before",
    async (name) => {
      for (const given of HARD_ARGUMENTS) {
        const reply = await readBack(name, {
          role: "assistant",
          content: "",
          tool_calls: [call("get_weather", given)],
        });
        expect(reply.calls.map((one) => [one.name, one.arguments])).toEqual([["get_weather", given]]);
        expect([reply.content, reply.notes]).toEqual(["", []]);
      }
      const many = ONE_CALL_ONLY.has(name)
        ? [call("clock", { city: "Bern" })]
        : [call("get_weather", ARGUMENTS), call("clock", { city: "Bern" }), call("get_weather", { city: "" })];
      const said = WITHOUT_WORDS.has(name) ? "" : "I look it up.";
      const reply = await readBack(name, { role: "assistant", content: said, tool_calls: many });
      expect(reply.calls.map((one) => ({ name: one.name, arguments: one.arguments }))).toEqual(
        many.map((one) => (one as { readonly function: Json }).function),
      );
      expect([reply.content.trim(), reply.notes]).toEqual([said, []]);
    },
  );

  it.each(names.filter((name) => typeof FAMILIES[name]?.[0] === "string"))(
    "%s: the calls that it writes are texts of the grammar for calls",
    async (name) => {
      const calls = [call("get_weather", ARGUMENTS)];
      const { source, prompt, answer } = await answerOf(name, { role: "assistant", content: "", tool_calls: calls });
      for (const only of [undefined, "get_weather", "clock"]) {
        const request = { style: replyStyle(source), template: source, prompt, tools: TOOLS, only };
        const automaton = new GrammarAutomaton(
          callGrammar(request, { idOf: () => undefined, endings: new Set<number>() }),
        );
        let state = automaton.start;
        let read = "";
        for (const character of answer.trim()) {
          state = automaton.next(state, character.codePointAt(0)!);
          read += character;
          if (state === 0) break;
        }
        expect([automaton.mayEnd(state), only], `${JSON.stringify(read)} of ${JSON.stringify(answer)}`).toEqual([
          only !== "clock",
          only,
        ]);
      }
    },
  );

  it.each(names.filter((name) => name in FAMILIES))("%s: words alone", async (name) => {
    const reply = await readBack(name, { role: "assistant", content: "Two words, {x}." }, []);
    expect([reply.content.trim(), reply.calls, reply.notes]).toEqual(["Two words, {x}.", [], []]);
  });
});

/** As Functionary 3.2 writes a conversation: each part of an answer begins with whom it is for. */
const RECIPIENTS = `{%- for message in messages -%}
<|start_header_id|>{{ message['role'] }}<|end_header_id|>

{% if message['role'] == 'assistant' -%}
{%- if message['content'] -%}{{ '>>>all\n' + message['content'] }}{%- endif -%}
{%- for tool_call in message['tool_calls'] or [] -%}
{{ '>>>' + tool_call['function']['name'] + '\n' + tool_call['function']['arguments'] }}
{%- endfor -%}
{%- else -%}{{ message['content'] }}{%- endif -%}<|eot_id|>
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n>>>' }}{%- endif -%}`;

describe.skipIf(missing !== undefined)(`recipients as Jinja2 writes them ${missing ?? ""}`, () => {
  it("words and calls are read back, and the calls are texts of the grammar", async () => {
    const before: readonly Json[] = [{ role: "user", content: "Weather?" }];
    const style = replyStyle(RECIPIENTS);
    const prompt = await written(RECIPIENTS, before, true, TOOLS);
    for (const given of [ARGUMENTS, ...HARD_ARGUMENTS])
      for (const content of ["", "I look it up."]) {
        const calls = ["get_weather", "clock"].map((name) => call(name, JSON.stringify(given)));
        const turn = await written(
          RECIPIENTS,
          [...before, { role: "assistant", content, tool_calls: calls }],
          false,
          TOOLS,
        );
        expect(turn.startsWith(prompt)).toBe(true);
        const answer = turn.slice(prompt.length).replace(/<\|eot_id\|>$/u, "");
        const names = { types: parameterTypes(TOOLS), toolNames: ["get_weather", "clock"] };
        const reader = new ReplyReader(style, { prompt, hasTools: true, ...names, earlierCalls: 0 });
        for (const character of answer) reader.push(character);
        const { reply } = reader.finish();
        expect(reply.calls.map((one) => [one.name, one.arguments])).toEqual([
          ["get_weather", given],
          ["clock", given],
        ]);
        expect([reply.content, reply.notes]).toEqual([content, []]);
      }
  });
});
