// Two devices in the store: the same seed and prompt go to both, in turn or at once; stop ends both; the history has each with its device.
import { describe, expect, it } from "vitest";
import type { StreamInputOf } from "../../main/contract/contract.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { pairSentence } from "../features/run/pair.ts";
import { itemsOf } from "../engine/recorded/replay.ts";
import { openSample } from "../testing/openStore.ts";

async function setUp(failing?: "mlx") {
  const inputs: StreamInputOf<"run.start">[] = [];
  let [now, most] = [0, 0];
  const { get } = await openSample({
    streams: {
      async *"run.start"(input, context) {
        inputs.push(input);
        now += 1;
        most = Math.max(most, now);
        try {
          if (input.device === failing) throw new WorkbenchError("RUN_FAILED", "[mlx] it broke");
          yield* itemsOf("run.start", input, context);
        } finally {
          now -= 1;
        }
      },
    },
  });
  get().setParameters({ maxTokens: 6 });
  get().setBeside("mlx");
  get().setDraft("Why?");
  return { get, inputs, most: () => most };
}

describe("side by side", () => {
  it("asks both the same, in turn, and remembers both with their devices", async () => {
    const { get, inputs, most } = await setUp();
    await get().send();
    expect(inputs.map(({ device }) => device)).toEqual(["cpu", "mlx"]);
    expect(inputs[0]).toEqual({ ...inputs[1], device: "cpu" });
    expect(inputs[0]?.sampling?.seed).toBeTypeOf("number");
    expect(most()).toBe(1);
    const [turn] = get().pairTurns;
    expect(turn?.sides.map(({ state, answer }) => [state, answer.device, answer.tokens.length])).toEqual([
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

  it("runs at once when that is asked for", async () => {
    const { get, most } = await setUp();
    get().setPairOrder("together");
    await get().send();
    expect(most()).toBe(2);
    expect(get().pairTurns[0]?.sides.every(({ state }) => state === "done")).toBe(true);
  });

  it("stops both: the one that runs ends, the one that waits does not begin", async () => {
    const { get, inputs } = await setUp();
    get().setParameters({ maxTokens: 500 });
    const sent = get().send();
    while ((get().pairTurns[0]?.sides[0].answer.tokens.length ?? 0) === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    get().stop();
    await sent;
    expect(inputs).toHaveLength(1);
    expect(get().pairTurns[0]?.sides.map(({ answer }) => answer.end)).toEqual([
      expect.stringMatching(/[Ss]topped/),
      "Not started: stopped first.",
    ]);
    const [turn] = get().pairTurns;
    expect(turn?.sides.map(({ answer }) => answer.cut)).toEqual([true, true]);
    expect(turn && pairSentence(turn)).toBe("Stopped before both wrote.");
    expect(get().running).toBeNull();
  });

  it("lets one answer when the other fails", async () => {
    const { get } = await setUp("mlx");
    await get().send();
    const [turn] = get().pairTurns;
    expect(turn?.sides[0].answer.tokens).toHaveLength(6);
    expect(turn?.sides[1].answer.error?.code).toBe("RUN_FAILED");
    expect(get().runHistory.map(({ device, errorCode }) => [device, errorCode])).toEqual([
      ["mlx", "RUN_FAILED"],
      ["cpu", null],
    ]);
  });

  it("forgets the answers of a model that is closed", async () => {
    const { get } = await setUp();
    await get().send();
    await get().open({ kind: "path", path: "/models/other.gguf" });
    expect(get().pairTurns).toEqual([]);
    expect(get().runHistory).toEqual([]);
  });
});
