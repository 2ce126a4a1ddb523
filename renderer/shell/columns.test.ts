// Columns in the store: the same seed and prompt go to all, in turn or at once; stop ends all; the history has each with its device and model.
import { beforeAll, describe, expect, it } from "vitest";
import type { StreamInputOf, StreamItemOf } from "../../main/contract/contract.ts";
import type { CallContext } from "../../main/contract/define.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { until } from "../../main/testing/until.ts";
import { comparedSentence } from "../features/run/columns.ts";
import { itemsOf } from "../engine/recorded/replay.ts";
import { openSample } from "../testing/openStore.ts";
import { sample, sampleId } from "../testing/sample.ts";

const OTHER = { path: "/models/other.gguf", title: "Other" };

/** An answer of a token, without the pauses in which an engine writes it. */
let short: StreamItemOf<"run.start">[] = [];
beforeAll(async () => {
  const input = { model: sampleId, maxTokens: 1, sampling: { seed: 1 } };
  for await (const item of itemsOf("run.start", input, { signal: new AbortController().signal } as CallContext))
    short = [...short, item];
});

async function setUp(failing?: "mlx") {
  const inputs: StreamInputOf<"run.start">[] = [];
  const closed: string[] = [];
  let [now, most] = [0, 0];
  const { get } = await openSample({
    calls: {
      "model.open": ({ source }) => {
        if (source.kind === "path" && source.path !== OTHER.path)
          throw new WorkbenchError("INPUT_NOT_FOUND", "[file] none");
        return source.kind === "path" ? { ...sample, model: "m-other", title: "Other", argument: OTHER.path } : sample;
      },
      "model.close": ({ model }) => {
        closed.push(model);
        return { ok: true };
      },
    },
    streams: {
      async *"run.start"(input, context) {
        inputs.push(input);
        now += 1;
        most = Math.max(most, now);
        try {
          if (input.device === failing) throw new WorkbenchError("RUN_FAILED", "[mlx] it broke");
          if (input.maxTokens === 1) yield* short;
          else yield* itemsOf("run.start", { ...input, model: sampleId }, context);
        } finally {
          now -= 1;
        }
      },
    },
  });
  get().setParameters({ maxTokens: 6 });
  get().setBeside([{ device: "mlx", model: null }]);
  get().setDraft("Why?");
  return { get, inputs, closed, most: () => most };
}

describe("columns", () => {
  it("asks both the same, in turn, and remembers both with their devices", async () => {
    const { get, inputs, most } = await setUp();
    await get().send();
    expect(inputs.map(({ device }) => device)).toEqual(["cpu", "mlx"]);
    expect(inputs[0]).toEqual({ ...inputs[1], device: "cpu" });
    expect(inputs[0]?.sampling?.seed).toBeTypeOf("number");
    expect(most()).toBe(1);
    const [turn] = get().columnTurns;
    expect(turn?.columns.map(({ state, answer }) => [state, answer.device, answer.tokens.length])).toEqual([
      ["done", "cpu", 6],
      ["done", "mlx", 6],
    ]);
    expect(get().runHistory.map(({ device, pair }) => [device, pair])).toEqual([
      ["mlx", turn?.id],
      ["cpu", turn?.id],
    ]);
    expect(get().running).toBeNull();
    expect(get().turns).toEqual([]);
    expect(
      get()
        .log.filter(({ text }) => text.startsWith("rlx chat"))
        .map(({ text }) => text),
    ).toEqual([expect.stringContaining("--device cpu"), expect.stringContaining("--device mlx")]);
  });

  it("goes on in each column from its own answers, and begins anew where one is new", async () => {
    const { get, inputs } = await setUp();
    get().setParameters({ maxTokens: 1 });
    await get().send();
    const answers = get().columnTurns[0]?.columns.map(({ answer }) => answer.reply.content) ?? [];
    get().setBeside([
      { device: "mlx", model: null },
      { device: "cpu", model: OTHER },
    ]);
    get().setDraft("And?");
    await get().send();
    const messages = inputs.slice(2).map(({ prompt }) => (prompt.kind === "chat" ? prompt.messages : []));
    const said = (answer: string | undefined): readonly (string | undefined)[] => ["Why?", answer, "And?"];
    expect(messages.map((all) => all.map(({ content }) => content))).toEqual([
      said(answers[0]),
      said(answers[1]),
      ["And?"],
    ]);
    // A conversation of its own knows nothing of it.
    get().newConversation();
    get().setDraft("New?");
    await get().send();
    expect(inputs.at(-1)?.prompt).toMatchObject({ messages: [{ role: "user", content: "New?" }] });
  });

  it("runs at once when that is asked for", async () => {
    const { get, most } = await setUp();
    get().setColumnOrder("together");
    await get().send();
    expect(most()).toBe(2);
    expect(get().columnTurns[0]?.columns.every(({ state }) => state === "done")).toBe(true);
  });

  it("stops both: the one that runs ends, the one that waits does not begin", async () => {
    const { get, inputs } = await setUp();
    get().setParameters({ maxTokens: 500 });
    const sent = get().send();
    while ((get().columnTurns[0]?.columns[0]?.answer.tokens.length ?? 0) === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    get().stop();
    await sent;
    expect(inputs).toHaveLength(1);
    expect(get().columnTurns[0]?.columns.map(({ answer }) => answer.end)).toEqual([
      expect.stringMatching(/[Ss]topped/),
      "Not started: stopped first.",
    ]);
    const [turn] = get().columnTurns;
    expect(turn?.columns.map(({ answer }) => answer.cut)).toEqual([true, true]);
    const [first, other] = turn?.columns ?? [];
    expect(first && other && comparedSentence(first, other)).toBe("Stopped before both wrote.");
    expect(get().running).toBeNull();
  });

  it("lets one answer when the other fails", async () => {
    const { get } = await setUp("mlx");
    await get().send();
    const [turn] = get().columnTurns;
    expect(turn?.columns[0]?.answer.tokens).toHaveLength(6);
    expect(turn?.columns[1]?.answer.error?.code).toBe("RUN_FAILED");
    expect(get().runHistory.map(({ device, errorCode }) => [device, errorCode])).toEqual([
      ["mlx", "RUN_FAILED"],
      ["cpu", null],
    ]);
  });

  it("puts other models beside the open one, each opened once and closed with its column", async () => {
    const { get, inputs, closed } = await setUp();
    get().setBeside([
      { device: "cpu", model: OTHER },
      { device: "mlx", model: OTHER },
      { device: "cpu", model: { path: "/models/gone.gguf", title: "Gone" } },
    ]);
    await get().send();
    expect(inputs.map(({ model, device }) => `${model} ${device}`)).toEqual([
      `${sampleId} cpu`,
      "m-other cpu",
      "m-other mlx",
    ]);
    expect(new Set(inputs.map(({ sampling }) => sampling?.seed)).size).toBe(1);
    const [turn] = get().columnTurns;
    expect(turn?.columns.map(({ answer }) => answer.error?.code ?? null)).toEqual([
      null,
      null,
      null,
      "INPUT_NOT_FOUND",
    ]);
    // A run record each, with the model that it is of.
    expect(get().runHistory.map(({ model, pair }) => [model, pair])).toEqual(
      ["Gone", "Other", "Other", null].map((model) => [model, turn?.id]),
    );
    expect(get().log.some(({ text }) => text.startsWith("rlx chat /models/other.gguf"))).toBe(true);
    get().setBeside([]);
    await until(() => closed.includes("m-other"));
    expect(closed.filter((model) => model === "m-other")).toHaveLength(1);
  });

  it("forgets the answers of a model that is closed", async () => {
    const { get } = await setUp();
    await get().send();
    await get().open({ kind: "path", path: "/models/other.gguf" });
    expect(get().columnTurns).toEqual([]);
    expect(get().runHistory).toEqual([]);
  });
});
