// Conversations in the store: several of a model, kept and found again; turns edited, answered again, branched, deleted and taken back.
import { beforeAll, describe, expect, it } from "vitest";
import type { StreamInputOf, StreamItemOf } from "../../main/contract/contract.ts";
import type { CallContext } from "../../main/contract/define.ts";
import { conversationMarkdown, readConversation } from "../../main/contract/views/conversation.ts";
import { until } from "../../main/testing/until.ts";
import { itemsOf } from "../engine/recorded/replay.ts";
import { conversationFile, conversationName, MOST_LETTERS } from "../features/run/conversation.ts";
import { allConversations, fitting, openConversationOf } from "../features/run/conversationSlice.ts";
import { talkPart } from "../features/run/part.ts";
import { openSample } from "../testing/openStore.ts";
import { sampleId } from "../testing/sample.ts";

type Items = AsyncIterable<StreamItemOf<"run.start">> | Iterable<StreamItemOf<"run.start">>;

/** An answer of three tokens, without the pauses in which an engine writes it. */
let short: StreamItemOf<"run.start">[] = [];
beforeAll(async () => {
  const input = { model: sampleId, maxTokens: 3, sampling: { seed: 1 } };
  for await (const item of itemsOf("run.start", input, { signal: new AbortController().signal } as CallContext))
    short = [...short, item];
});

async function setUp() {
  const inputs: StreamInputOf<"run.start">[] = [];
  const opened = await openSample({
    streams: {
      async *"run.start"(input, context) {
        inputs.push(input);
        const items: Items = input.maxTokens === 3 ? short : itemsOf("run.start", input, context);
        yield* items;
      },
    },
  });
  const { get } = opened;
  get().setParameters({ maxTokens: 3 });
  const say = async (text: string): Promise<void> => {
    get().setDraft(text);
    await get().send();
  };
  const asked = (at: number): readonly string[] => {
    const prompt = inputs.at(at)?.prompt;
    return prompt?.kind === "chat"
      ? prompt.messages.map(({ role, content }) => `${role}: ${typeof content === "string" ? content : "parts"}`)
      : [];
  };
  const names = (): readonly string[] => allConversations(get()).map((each) => conversationName(each));
  const prompts = (): readonly string[] => get().turns.map(({ prompt }) => prompt);
  return { ...opened, inputs, say, asked, names, prompts };
}

describe("the conversations of a model", () => {
  it("are named by their first words, the newest first, and opened again as they were", async () => {
    const { get, say, names, prompts } = await setUp();
    expect(names()).toEqual(["New conversation"]);
    await say("What is\n7 x 8?");
    get().newConversation();
    // An empty one is no second one.
    get().newConversation();
    expect(prompts()).toEqual([]);
    await say("Tell me a story of a length that no list of conversations would ever show as a whole.");
    expect(names()).toEqual(["Tell me a story of a length that no list of conversations…", "What is 7 x 8?"]);
    get().setDraft("half a ques");
    const [, older] = allConversations(get());
    get().openConversation(older?.id ?? -1);
    expect([prompts(), get().draft]).toEqual([["What is\n7 x 8?"], ""]);
    get().renameConversation(get().conversation.id, "  Sums ");
    expect(names()[1]).toBe("Sums");
    get().openConversation(get().conversations[0]?.id ?? -1);
    expect(get().draft).toBe("half a ques");
    get().renameConversation(older?.id ?? -1, "");
    expect(names()[1]).toBe("What is 7 x 8?");
  });

  it("are deleted and taken back, the open one too", async () => {
    const { get, say, names, prompts } = await setUp();
    await say("One");
    get().newConversation();
    await say("Two");
    const before = allConversations(get());
    get().deleteConversation(get().conversation.id);
    expect([names(), prompts(), get().deleted?.name]).toEqual([["One"], ["One"], "Two"]);
    get().undoDelete();
    expect(allConversations(get())).toEqual(before);
    expect(prompts()).toEqual(["Two"]);
    get().deleteConversation(get().conversations[0]?.id ?? -1);
    expect(names()).toEqual(["Two"]);
    // Something else happened: the way back is gone, and its line too.
    await say("More");
    get().undoDelete();
    expect(names()).toEqual(["Two"]);
    get().deleteConversation(get().conversation.id);
    expect(names()).toEqual(["New conversation"]);
  });

  it("takes an answer that goes on while another one is looked at", async () => {
    const { get } = await setUp();
    get().setParameters({ maxTokens: 20 });
    get().setDraft("Why?");
    const sent = get().send();
    await until(() => (get().turns[0]?.answer.tokens.length ?? 0) > 2);
    const { id } = get().conversation;
    get().newConversation();
    get().deleteConversation(id);
    await sent;
    const kept = get().conversations.find((each) => each.id === id);
    expect(kept?.turns[0]?.answer.stats?.generated).toBe(20);
    expect(get().turns).toEqual([]);
    expect(get().runHistory).toHaveLength(1);
  });

  it("have room for so much, the newest first", async () => {
    const { get, say } = await setUp();
    await say("One");
    const one = openConversationOf(get());
    const [turn] = one.turns;
    if (turn === undefined) throw new Error("something was said");
    const long = { ...one, turns: [{ ...turn, prompt: "x".repeat(MOST_LETTERS / 2) }] };
    const { kept, left } = fitting([1, 2, 3].map((id) => ({ ...long, id, at: id })));
    expect([kept.map(({ id }) => id), left.map(({ id }) => id)]).toEqual([[3], [2, 1]]);
  });

  it("come back with their ways, and those of an old document too", async () => {
    const { get, say, store } = await setUp();
    await say("One");
    await get().regenerate(get().turns[0]?.id ?? -1);
    await say("And?");
    get().newConversation();
    await say("Two");
    const saved = JSON.parse(JSON.stringify(talkPart.save(get()))) as {
      conversations?: unknown;
      conversation?: unknown;
    };
    const fresh = await setUp();
    const tools = { set: fresh.store.setState, get: fresh.get } as never;
    expect(await talkPart.restore(saved, tools)).toBe(true);
    expect(allConversations(fresh.get())).toEqual(allConversations(store.getState()));
    expect(fresh.get().conversations[0]?.others).toHaveLength(1);
    // New turns have numbers of their own.
    expect(fresh.get().nextRunId()).toBe(5);

    const { conversations: _, conversation: __, ...old } = saved as Record<string, unknown>;
    const [first] = get().turns;
    const pair = { id: 9, prompt: "?", mode: "chat", order: "turn", seed: 1 };
    const side = { id: 9, parameters: get().parameters, answer: first?.answer };
    const document = {
      ...old,
      beside: "mlx",
      turns: [{ id: 3, prompt: "Old", results: [], answer: first?.answer }],
      pairs: [{ ...pair, left: side, right: { ...side, id: 10 } }],
      others: undefined,
      attachments: undefined,
    };
    expect(await talkPart.restore(JSON.parse(JSON.stringify(document)), tools)).toBe(true);
    expect(fresh.get().turns).toMatchObject([{ prompt: "Old", after: null, attachments: [] }]);
    expect(fresh.get().columnTurns[0]?.columns.map(({ id, model }) => [id, model])).toEqual([
      [9, null],
      [10, null],
    ]);
  });
});

describe("a turn", () => {
  it("is edited and asked again behind what stands before it, and no answer is lost", async () => {
    const { get, say, asked, prompts } = await setUp();
    await say("One");
    await say("Two");
    await say("Three");
    const [first, second] = get().turns;
    await get().editTurn(second?.id ?? -1, "Deux");
    expect(prompts()).toEqual(["One", "Deux"]);
    expect(asked(-1).filter((line) => line.startsWith("user"))).toEqual(["user: One", "user: Deux"]);
    get().chooseVersion(get().turns[1]?.id ?? -1, -1);
    expect(prompts()).toEqual(["One", "Two", "Three"]);
    get().chooseVersion(second?.id ?? -1, 1);
    expect(prompts()).toEqual(["One", "Deux"]);
    await get().regenerate(first?.id ?? -1);
    expect(prompts()).toEqual(["One"]);
    expect(asked(-1)).toEqual(["user: One"]);
    // The oldest of the two, and on along its newest turns.
    get().chooseVersion(get().turns[0]?.id ?? -1, -1);
    expect(prompts()).toEqual(["One", "Deux"]);
    expect(
      get()
        .others.map(({ prompt }) => prompt)
        .sort(),
    ).toEqual(["One", "Three", "Two"]);
  });

  it("is deleted without what follows it, and taken back", async () => {
    const { get, say, asked, prompts } = await setUp();
    await say("One");
    await say("Two");
    await say("Three");
    const before = openConversationOf(get());
    get().deleteTurn(get().turns[1]?.id ?? -1);
    expect(prompts()).toEqual(["One", "Three"]);
    await Promise.resolve();
    get().undoDelete();
    expect(openConversationOf(get())).toEqual(before);
    get().deleteTurn(get().turns[1]?.id ?? -1);
    await say("Four");
    expect(asked(-1).filter((line) => line.startsWith("user"))).toEqual(["user: One", "user: Three", "user: Four"]);
    // Of a turn with two versions the other one is shown, and with the last of them gone what was before.
    await get().regenerate(get().turns[2]?.id ?? -1);
    expect(get().others).toHaveLength(1);
    get().deleteTurn(get().turns[2]?.id ?? -1);
    expect([prompts(), get().others]).toEqual([["One", "Three", "Four"], []]);
    get().deleteTurn(get().turns[2]?.id ?? -1);
    expect(prompts()).toEqual(["One", "Three"]);
  });

  it("begins a branch: a conversation of its own with what was said until then", async () => {
    const { get, say, names, prompts } = await setUp();
    await say("One");
    await say("Two");
    const ids = get().turns.map(({ id }) => id);
    get().branch(ids[0] ?? -1);
    expect([prompts(), names()]).toEqual([["One"], ["Branch of One", "One"]]);
    expect(ids).not.toContain(get().turns[0]?.id);
    await say("Else");
    expect(get().conversations[0]?.turns.map(({ prompt }) => prompt)).toEqual(["One", "Two"]);
  });
});

describe("files that go with a question", () => {
  const file = (name: string, content: string | Uint8Array<ArrayBuffer>): File => new File([content], name);

  it("stand before it, marked by their names", async () => {
    const { get, say, asked } = await setUp();
    await get().attach([file("a.txt", "first"), file("b.csv", "1,2\n"), file("a.txt", "newer")]);
    expect(get().attachments.map(({ name, bytes }) => [name, bytes])).toEqual([
      ["b.csv", 4],
      ["a.txt", 5],
    ]);
    get().detach("b.csv");
    await say("What is it?");
    expect(asked(-1)).toEqual(["user: --- File: a.txt ---\nnewer\n--- End of a.txt ---\n\nWhat is it?"]);
    expect(get().turns[0]).toMatchObject({ prompt: "What is it?", attachments: [{ name: "a.txt" }] });
    expect(get().attachments).toEqual([]);
  });

  it("are text: what else they are is said, as is a file that is too large", async () => {
    const { get } = await setUp();
    const bytes = (...values: readonly number[]) => Uint8Array.from(values);
    await get().attach([
      file("a.pdf", "%PDF-1.7"),
      file("b.bin", bytes(0xc3, 0x28)),
      file("c.txt", "x".repeat(300_000)),
      file("d.txt", bytes(65, 0, 66)),
    ]);
    expect(get().refusedFiles.map(({ name, error }) => [name, error.code, error.message])).toEqual([
      ["a.pdf", "INPUT_UNREADABLE", expect.stringContaining("got a PDF, expected text")],
      ["b.bin", "INPUT_UNREADABLE", expect.stringContaining("bytes that are not UTF-8")],
      ["c.txt", "INPUT_LIMIT", expect.stringMatching(/got 300.KB, expected 250.KB at most/u)],
      ["d.txt", "INPUT_UNREADABLE", expect.stringContaining("bytes that are no text")],
    ]);
    await get().attach([file("wide.txt", bytes(0xff, 0xfe, 0xe9, 0))]);
    expect(get().attachments[0]?.text).toBe("é");
    expect(get().refusedFiles).toEqual([]);
    await get().attach(Array.from({ length: 8 }, (_, i) => file(`${i}.txt`, "x")));
    expect(get().attachments).toHaveLength(8);
    expect(get().refusedFiles[0]?.error.message).toContain("expected 8 at most");
  });
});

describe("a conversation as a file", () => {
  it("holds what was said, as JSON that is read again and as Markdown for people", async () => {
    const { get, say } = await setUp();
    get().setParameters({ system: "Be brief." });
    await say("Why?");
    const file = conversationFile(openConversationOf(get()), "Sample", 0);
    expect(readConversation(JSON.stringify(file))).toEqual(file);
    expect(file.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    const text = conversationMarkdown(file);
    expect(text).toContain(
      "# Why?\n\nSample, 1970-01-01 00:00 UTC\n\n## System\n\nBe brief.\n\n## You\n\nWhy?\n\n## Answer",
    );
    expect(() => readConversation("{}")).toThrow(/\[conversation\] format/u);
    expect(() => readConversation("# Why?")).toThrow(/no JSON/u);
  });
});
