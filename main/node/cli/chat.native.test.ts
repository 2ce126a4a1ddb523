/** `rlx chat` with reasoning and tools. A grammar makes a tiny model write exactly what the test is about. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConversation } from "../../contract/views/conversation.ts";
import { rlx } from "../../testing/rlx.ts";
import { requireCommandLine } from "../../testing/rlxProcess.ts";
import { toolTemplate, writeTinyGguf } from "../../testing/tinyGguf.ts";

const ANSWER =
  '<think>\nhm\n</think>\n\nLooking.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rom"}}\n</tool_call>';
const TOOLS = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const grammar = (text: string): string => `root ::= ${JSON.stringify(text)}`;

let folder: string;
let file: string;
beforeAll(async () => {
  requireCommandLine();
  folder = mkdtempSync(join(tmpdir(), "chat-"));
  file = join(folder, "tools.gguf");
  await writeTinyGguf(file, { template: toolTemplate });
  writeFileSync(join(folder, "tools.json"), JSON.stringify(TOOLS));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
const chat = (...more: readonly string[]) =>
  rlx(["chat", file, "-m", "Weather?", "-n", "300", "--grammar", grammar(ANSWER), ...more], { home: folder });

interface Talk {
  readonly answers: readonly Record<string, unknown>[];
  readonly messages: readonly Record<string, unknown>[];
}

describe("rlx chat", () => {
  it("tells reasoning, words and calls apart", { timeout: 60_000 }, async () => {
    const { code, out } = await chat("--tools", join(folder, "tools.json"), "--json");
    expect(code).toBe(0);
    const { answers, messages } = JSON.parse(out) as Talk;
    const call = { id: "call00001", name: "weather", arguments: '{"city":"Rom"}' };
    expect(answers).toMatchObject([{ text: ANSWER, reasoning: "hm", content: "Looking.", calls: [call], notes: [] }]);
    expect(messages.at(-1)).toEqual({ role: "assistant", content: "Looking.", reasoning: "hm", calls: [call] });
  });

  it("writes the answer and the call, and what was thought beside them", { timeout: 60_000 }, async () => {
    const shown = await chat("--tools", JSON.stringify(TOOLS));
    expect(shown.out).toBe('Looking.\n\n→ weather({"city":"Rom"})\n');
    expect(shown.err).toMatch(/^hm$/mu);
    const hidden = await chat("--reasoning", "hide");
    expect(hidden.out).toBe(shown.out);
    expect(hidden.err).not.toMatch(/^hm$/mu);
  });

  it("says that a template leaves tools out", { timeout: 60_000 }, async () => {
    const template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: ";
    const plain = join(folder, "plain.gguf");
    await writeTinyGguf(plain, { template });
    const line = ["chat", plain, "-m", "Weather?", "-n", "4", "--tools", JSON.stringify(TOOLS)];
    const { code, err } = await rlx(line, { home: folder });
    expect(code).toBe(0);
    expect(err).toContain(
      "The chat template leaves tools out. The model is not told of its tools, so it cannot call them.",
    );
  });

  it("saves the conversation, and goes on with it", { timeout: 60_000 }, async () => {
    const kept = join(folder, "talk.json");
    const first = await chat("--system", "Be brief.", "--save", kept);
    expect(first.code).toBe(0);
    const said = readConversation(readFileSync(kept, "utf8"));
    expect(said).toMatchObject({
      name: "Weather?",
      messages: [{ role: "system" }, { role: "user" }, { role: "assistant" }],
    });
    const page = join(folder, "talk.md");
    const second = await chat("--conversation", kept, "--save", page, "--json");
    const { messages } = JSON.parse(second.out) as Talk;
    expect(messages.slice(0, 3)).toEqual(said.messages);
    // The call that was left open takes what is said next for its result.
    expect(messages.map(({ role }) => role).slice(3)).toEqual(["tool", "assistant"]);
    expect(readFileSync(page, "utf8")).toMatch(/^# Weather\?\n\n.*## System\n\nBe brief\.\n\n## You/su);
    const wrong = await chat("--conversation", page);
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("[conversation] got text that is no JSON")]);
  });

  it("takes the next message for the result of a call", { timeout: 60_000 }, async () => {
    const { code, out } = await chat("-m", "grey", "--tools", JSON.stringify(TOOLS), "--json");
    expect(code).toBe(0);
    const { messages, answers } = JSON.parse(out) as Talk;
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(messages[2]).toEqual({ role: "tool", content: "grey", callId: "call00001", name: "weather" });
    expect(answers[1]).toMatchObject({ calls: [{ id: "call00002" }] });
  });

  it("calls the tool that --tool-choice names", { timeout: 60_000 }, async () => {
    const options = ["--tools", JSON.stringify(TOOLS), "--tool-choice", "weather", "--json"];
    const biases = ["h=-100", "th=-100"].flatMap((bias) => ["--logit-bias", bias]);
    const { code, out } = await rlx(
      ["chat", file, "-m", "Weather?", "-n", "300", "--seed", "1", ...options, ...biases],
      {
        home: folder,
      },
    );
    expect(code).toBe(0);
    expect((JSON.parse(out) as Talk).answers).toMatchObject([{ calls: [{ name: "weather", arguments: "{}" }] }]);
    expect((await chat("--tools", JSON.stringify(TOOLS), "--tool-choice", "required")).err).toContain(
      "beside a grammar",
    );
  });

  it("has in `rlx run` a form for one prompt", { timeout: 60_000 }, async () => {
    const told = ["--tools", JSON.stringify(TOOLS), "-n", "300", "--grammar", grammar(ANSWER)];
    const { code, out } = await rlx(["run", file, "-p", "Weather?", ...told, "--json"], { home: folder });
    expect(code).toBe(0);
    const calls = [{ id: "call00001", name: "weather", arguments: '{"city":"Rom"}' }];
    expect(JSON.parse(out)).toMatchObject({ text: ANSWER, reasoning: "hm", content: "Looking.", calls, notes: [] });
    const refused = await rlx(["run", file, "-p", "Weather?", "--tool-choice", "required"], { home: folder });
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("required without tools")]);
  });

  it("refuses what cannot be tools or a variable", { timeout: 60_000 }, async () => {
    for (const [option, value, ending] of [
      ["--tools", "[1]", 2],
      ["--tools", '{"type": "function"}', 2],
      ["--template-var", "1=2", 2],
      ["--reasoning", "maybe", 2],
      ["--template", "x", 1],
    ] as const) {
      const { code, err } = await chat(option, value);
      expect([option, code]).toEqual([option, ending]);
      expect(err).toContain("expected");
    }
  });
});
