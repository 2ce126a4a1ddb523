/**
 * The way there and back: Jinja2 writes an answer with the template of its model, and the reader takes it apart again.
 * What the template adds after the beginning of the turn is what the model was trained to write.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Json } from "../diagnostics/errors.ts";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
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

/** What the model would write for a message, and how it is read. */
async function readBack(name: string, message: Json, tools: readonly Json[] = TOOLS): Promise<Reply> {
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
  const options = {
    prompt: turn.slice(0, from),
    hasTools: tools.length > 0,
    types: parameterTypes(tools),
    earlierCalls: 0,
  };
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

  it.each(names.filter((name) => name in FAMILIES))("%s: words alone", async (name) => {
    const reply = await readBack(name, { role: "assistant", content: "Two words, {x}." }, []);
    expect([reply.content.trim(), reply.calls, reply.notes]).toEqual(["Two words, {x}.", [], []]);
  });
});
