/** Tokens and the parts that they belong to: each is given once, in order, with its own text. */
import { describe, expect, it } from "vitest";
import { PLAIN_STYLE, replyStyle } from "../replies/families.ts";
import { ReplyReader } from "../replies/reader.ts";
import { parameterTypes } from "../replies/reply.ts";
import type { GenerateEvent, GenerateStats } from "./generate.ts";
import { replyEvents } from "./replyEvents.ts";

const STATS = {} as GenerateStats;
const CONTROL = ["<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|other|>"];

/** Ids below 100 are control tokens. */
async function* answer(texts: readonly string[]): AsyncGenerator<GenerateEvent> {
  await Promise.resolve();
  for (const [i, text] of texts.entries()) {
    const control = CONTROL.indexOf(text);
    const id = control < 0 ? 100 + i : control;
    yield { kind: "token", id, text: control < 0 ? text : "", logprob: 0, top: [], stats: STATS };
  }
  yield { kind: "done", reason: "stop", stats: STATS };
}

async function read(style: ReturnType<typeof replyStyle>, prompt: string, texts: readonly string[]) {
  const reader = new ReplyReader(style, { prompt, hasTools: true, types: parameterTypes([]), earlierCalls: 0 });
  const tokenizer = {
    tokenKind: (id: number) => (id < 100 ? ("control" as const) : ("normal" as const)),
    tokenText: (id: number) => CONTROL[id] ?? "",
  };
  const out: unknown[] = [];
  for await (const event of replyEvents(answer(texts), reader, tokenizer)) {
    if (event.kind === "token") out.push(event.pieces.map(({ part, text }) => `${part}:${text}`).join("|"));
    else if (event.kind === "call") out.push(event.call.name);
    else if (event.kind === "done") out.push(event.reply.content);
  }
  return out;
}

describe("the tokens of an answer", () => {
  it("wait while they may begin a mark, and are cut where one begins", async () => {
    expect(await read(replyStyle("</think>"), "<think>", ["a ", "b.</", "think", ">\n", "\nYes", " <", "b>"])).toEqual([
      "reasoning:a ",
      "reasoning:b.",
      "",
      "",
      "answer:Yes",
      "answer: <",
      "answer:b>",
      "Yes <b>",
    ]);
  });

  it("are marks by their hidden text, where that is one", async () => {
    const texts = ["<|channel|>", "analysis", "<|message|>", "hm", "<|end|>", "<|start|>", "assistant"];
    const last = ["<|channel|>", "final", "<|message|>", "Y", "<|other|>", "es"];
    expect(
      await read(replyStyle("<|start|><|channel|><|message|>"), "<|start|>assistant", [...texts, ...last]),
    ).toEqual(["", "", "", "reasoning:hm", "", "", "", "", "", "", "answer:Y", "", "answer:es", "Yes"]);
  });

  it("of a call come before it", async () => {
    expect(
      await read(replyStyle("<tool_call>"), "", ["<tool_call>", '{"name":', ' "f"}', "</tool_call>", "x"]),
    ).toEqual(["", 'call:{"name":', 'call: "f"}', "", "f", "answer:x", "x"]);
  });

  it("of a text are the text", async () => {
    expect(await read(PLAIN_STYLE, "<think>", ["<think>", "<|channel|>", " a"])).toEqual([
      "answer:<think>",
      "",
      "answer: a",
      "<think> a",
    ]);
  });
});
