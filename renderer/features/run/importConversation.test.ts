// Conversations from files: what the window exports comes back as it was, and what is none is refused by the message that is wrong.
import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../../main/contract/views/chat.ts";
import type { Conversation as ConversationFile } from "../../../main/contract/views/conversation.ts";
import { openSample } from "../../testing/openStore.ts";
import { conversationFile } from "./conversation.ts";
import { openConversationOf } from "./conversationSlice.ts";
import { importedConversation } from "./importConversation.ts";

const fileOf = (messages: readonly ChatMessage[], part: Partial<ConversationFile> = {}): ConversationFile => ({
  ...{ format: "rlx-conversation", version: 1, name: "Sums", model: "A model", savedAt: 1, ...part },
  messages: [...messages],
});
const numbers = (): (() => number) => {
  let last = 10;
  return () => (last += 1);
};
const read = (messages: readonly ChatMessage[], part?: Partial<ConversationFile>) =>
  importedConversation(fileOf(messages, part), numbers());

const CALL = { id: "c1", name: "add", arguments: "{}" };
const TALK: readonly ChatMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "What is 1 + 1?" },
  { role: "assistant", content: "", reasoning: "A sum.", calls: [CALL] },
  { role: "tool", content: "2", callId: "c1", name: "add" },
  { role: "assistant", content: "2" },
];
const asFile = (messages: readonly ChatMessage[], name = "a.json") =>
  new File([JSON.stringify(fileOf(messages))], name);

describe("a conversation from a file", () => {
  it("is the one that was written", () => {
    const { system, turns, others, name, draft } = read(TALK);
    expect([system, name, draft, others]).toEqual(["Be brief.", "Sums", "", []]);
    expect(turns.map(({ id, after, prompt, results }) => [id, after, prompt, results.length])).toEqual([
      [11, null, "What is 1 + 1?", 0],
      [12, 11, "", 1],
    ]);
    const again = conversationFile(
      { system, turns, others, name, draft, id: 1, at: 1, mode: "chat", attachments: [], columnTurns: [] },
      "A model",
      1,
    );
    expect(again).toEqual(fileOf(TALK));
  });

  it("has further answers as versions, and a last question as the draft", () => {
    const { turns, others, draft } = read([
      { role: "user", content: [{ type: "text", text: "Why?" }] },
      { role: "assistant", content: "So.", name: "A on cpu" },
      { role: "assistant", content: "Because.", name: "B on cpu" },
      { role: "user", content: "And?" },
    ]);
    expect(turns.map(({ answer }) => answer.reply.content)).toEqual(["So."]);
    expect(others.map(({ id, after, prompt, answer }) => [id, after, prompt, answer.end])).toEqual([
      [12, null, "Why?", "Read from a file: B on cpu."],
    ]);
    expect(draft).toBe("And?");
    expect(read([], { name: " " }).name).toBeNull();
  });

  it("is refused by the message that does not fit, with what to do", () => {
    const user = { role: "user", content: "a" } as const;
    const answer = { role: "assistant", content: "b" } as const;
    for (const [messages, said] of [
      [[answer], "messages.0: got an answer without a question"],
      [[user, user], "messages.1: got a second question"],
      [[user, { role: "tool", content: "x" }], "messages.1: got a tool's result behind a question"],
      [[user, answer, { role: "system", content: "x" }], "messages.2: got a message of the role system"],
      [[user, answer, { role: "tool", content: "x" }], "messages.2: got results of tools without an answer"],
      [[{ ...user, content: "x".repeat(2_100_000) }, answer], "expected 2000000 at most"],
    ] as const)
      expect(() => read(messages)).toThrow(expect.objectContaining({ message: expect.stringContaining(said) }));
  });

  it("is opened in the window, and what is none leaves everything as it was", async () => {
    const { get } = await openSample();
    get().setDraft("mine");
    await get().importConversation(asFile(TALK));
    expect(get().turns).toHaveLength(2);
    expect(get().parameters.system).toBe("Be brief.");
    expect(get().conversations.map(({ draft }) => draft)).toEqual(["mine"]);
    const before = openConversationOf(get());
    for (const [file, hint] of [
      [new File(["# Sums"], "a.md"), /Markdown is for people/],
      [new File(['{"format":"rlx-session"}'], "a.json"), /Save as JSON/],
      [asFile([{ role: "assistant", content: "b" }]), /Add the question/],
      [{ name: "big.json", size: 1e9, text: () => Promise.reject(new Error("read")) }, /Save as JSON/],
    ] as const) {
      await get().importConversation(file);
      expect(get().notices.at(-1)).toMatchObject({
        title: `${file.name} could not be read as a conversation`,
        hint: expect.stringMatching(hint),
      });
      expect(openConversationOf(get())).toEqual(before);
    }
  });
});
