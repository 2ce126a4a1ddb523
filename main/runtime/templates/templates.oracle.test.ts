/**
 * Real templates: the sample conversations as this inspector writes them and as Jinja2 does; what each template leaves out or
 * refuses; and calls there and back, from the template's own text and without help.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chatTemplate } from "../../chatTemplate/chatTemplate.ts";
import { finish } from "../../ir/steps.ts";
import { jinjaRender, oracleMissing } from "../../testing/oracle.ts";
import { sharedFile, sharedFileMissing } from "../../testing/sharedData.ts";
import { rendered, templateAbilities } from "./abilities.ts";
import { callRoundTrip } from "./roundTrip.ts";
import { SAMPLE_CONVERSATIONS, SAMPLE_TOOLS } from "./samples.ts";

const missing = oracleMissing() ?? sharedFileMissing("templates");
const folder = sharedFile("templates");
const names = existsSync(folder)
  ? readdirSync(folder).filter((name) => name.endsWith(".jinja"))
  : ["no templates here"];
const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
const ENDINGS = [
  "<|im_end|>",
  "<EOS>",
  "<|eot_id|>",
  "<|eom_id|>",
  "<|END_OF_TURN_TOKEN|>",
  "<turn|>",
  "<|end|>",
  "<|message_sep|>",
  "<｜end▁of▁sentence｜>",
  "<|tool_response>",
];

/** In the order of the probes: written, left out (-), refused by the template (R), or it fails (F). */
const KNOWN: Readonly<Record<string, readonly [abilities: string, trip: string]>> = {
  "Bielik-11B-v3.0-Instruct.jinja": ["w--wwwwwwww", "same Hermes"],
  // A template for conversations with tools only.
  "CohereForAI-c4ai-command-r-plus-tool_use.jinja": ["FFFFFwwwF-F", "same Command R"],
  "GLM-4.7-Flash.jinja": ["ww-wwwww-ww", "same GLM"],
  "GigaChat3.1-10B-A1.8B.jinja": ["wwwwwwww--w", "same GigaChat"],
  // It appends to a list, which Jinja2's sandbox refuses, too.
  "Kimi-K2-Thinking.jinja": ["wwwwwwFF-Fw", "refused Kimi"],
  "MiMo-VL.jinja": ["ww-wwwww--w", "same Hermes"],
  "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja": ["wwwwwwww-ww", "same Qwen Coder"],
  "Qwen-QwQ-32B.jinja": ["ww-wwwww--w", "same Hermes"],
  "Qwen3-Coder.jinja": ["wwwwwwww--w", "same Qwen Coder"],
  "StepFun3.5-Flash.jinja": ["ww-wwwww-ww", "same Qwen Coder"],
  "deepseek-ai-DeepSeek-V3.1.jinja": ["ww-ww-ww--w", "same DeepSeek"],
  "fireworks-ai-llama-3-firefunction-v2.jinja": ["wwRwwwww---", "same Firefunction"],
  "google-gemma-4-31B-it.jinja": ["wwwwwwww-ww", "same Gemma 4"],
  "llama-cpp-rwkv-world.jinja": ["ww-ww-----w", "left-out null"],
  "meta-llama-Llama-3.1-8B-Instruct.jinja": ["wwwwwwww--w", "same Llama 3"],
  "microsoft-Phi-3.5-mini-instruct.jinja": ["ww-ww-----w", "left-out null"],
  "moonshotai-Kimi-K2.jinja": ["wwwwwwww--w", "same Kimi"],
  "unsloth-Apriel-1.5.jinja": ["ww-wwwww--w", "same Apriel"],
};
const LETTERS = { written: "w", "left-out": "-", refused: "R", failed: "F" } as const;
/** Firefunction asks for them; the engine gives them, too. */
const EXTRA = { functions: JSON.stringify(SAMPLE_TOOLS, null, 4), datetime: "Fri Jul 26 2024" };

describe.skipIf(missing !== undefined).each(names)("%s", (name) => {
  const source = existsSync(`${folder}/${name}`) ? readFileSync(`${folder}/${name}`, "utf8") : "";
  const template = chatTemplate(source, words);

  it("writes the sample conversations as Jinja2 does, or refuses them as it does", async () => {
    const now = new Date(2024, 6, 26);
    for (const { id, messages, hasTools = false } of SAMPLE_CONVERSATIONS)
      for (const addGenerationPrompt of [true, false]) {
        const tools = hasTools ? SAMPLE_TOOLS : null;
        const got = rendered(template, messages, { tools, now, addGenerationPrompt });
        const extra = { ...EXTRA, functions: hasTools ? EXTRA.functions : "[]" };
        const values = {
          tools,
          documents: null,
          messages: messages as never,
          add_generation_prompt: addGenerationPrompt,
        };
        const marks = { bos_token: "<BOS>", eos_token: "<EOS>" };
        const expected = await jinjaRender(source, { ...values, ...marks, ...extra }).catch(() => null);
        // Jinja2 takes `.items` of a schema for the method, and then writes a type of no types.
        expect([id, got.text]).toEqual([id, expected?.replaceAll("Union[]", "int") ?? null]);
      }
  });

  it("is known for what it does", () => {
    const found = finish(templateAbilities(template)).map(({ state }) => LETTERS[state]);
    const { state, family, differences } = callRoundTrip(template, ENDINGS);
    expect([found.join(""), `${state} ${family}`, differences]).toEqual([...(KNOWN[name] ?? []), []]);
  });
});
