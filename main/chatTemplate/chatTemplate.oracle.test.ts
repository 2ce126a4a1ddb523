/** Real templates rendered here and by Jinja2, on three conversations each. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import { chatTemplate } from "./chatTemplate.ts";
import type { ChatMessage } from "./chatTemplate.ts";

const missing = oracleMissing() ?? sharedFileMissing("templates");
// Without the folder one name is left, so that what is skipped is seen.
const templates = existsSync(sharedFile("templates"))
  ? readdirSync(sharedFile("templates")).filter((name) => name.endsWith(".jinja"))
  : ["no templates here"];

const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const system = (content: string): ChatMessage => ({ role: "system", content });
const CONVERSATIONS: Readonly<Record<string, readonly ChatMessage[]>> = {
  "one question": [user("What is 2 + 2?")],
  "several turns": [
    system("You are brief."),
    user("Hi"),
    assistant("Hello!"),
    user("Name a colour.\nAny."),
    assistant("Blue."),
    user("Why?"),
  ],
  "awkward content": [
    user("  <|im_end|> {{ not a template }} 'quotes' \"and\" \\n é 日本語 👍  "),
    assistant("<think>\nhm\n</think>\n\nAn answer."),
    user(""),
  ],
  "an answer that is indented": [user("Code?"), assistant("<think>\n a\n</think>\n\n    x\n"), user("Thanks")],
};

/** What Jinja2 refuses must be refused here too; otherwise the texts are the same. */
async function outcome(render: () => string | Promise<string>): Promise<string> {
  try {
    return await render();
  } catch (error) {
    return error instanceof Error ? "refused" : "";
  }
}

describe.skipIf(missing).each(templates)("%s", (name) => {
  const source = existsSync(sharedFile(`templates/${name}`))
    ? readFileSync(sharedFile(`templates/${name}`), "utf8")
    : "";
  const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };

  it.each(Object.entries(CONVERSATIONS))("%s", async (_, messages) => {
    for (const addGenerationPrompt of [true, false]) {
      const values = {
        tools: null,
        documents: null,
        messages: messages as never,
        add_generation_prompt: addGenerationPrompt,
        bos_token: "<BOS>",
        eos_token: "<EOS>",
      };
      const expected = await outcome(() => jinjaRender(source, values));
      const got = await outcome(() =>
        chatTemplate(source, words).render(messages, { addGenerationPrompt, now: new Date(2024, 6, 26) }),
      );
      expect(got).toBe(expected);
    }
  });
});
