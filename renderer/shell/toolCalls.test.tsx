// A conversation with a tool, over an engine that is played: what is shown, and what is sent with the result.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { StreamInputOf } from "../../main/contract/contract.ts";
import type { Reply } from "../../main/contract/views/chat.ts";
import type { RunStats } from "../../main/contract/views/run.ts";
import { RunTab } from "../features/run/RunTab.tsx";
import { StoreProvider } from "../session/context.tsx";
import { openSample } from "../testing/openStore.ts";

const figure = { value: 1, unit: "seconds", low: null, high: null, truth: "measured", basis: "" } as const;
const STATS: RunStats = {
  ...{ promptTokens: 1, reusedTokens: 0, promptSeconds: figure, promptRate: null, firstTokenSeconds: null },
  ...{ generated: 2, rate: null, rateNow: null, contextUsed: 3, contextSize: 9, cacheBytes: 0, recomputed: null },
};
const CALL = { id: "call00001", name: "weather", arguments: '{"city":"Rome"}' };
const EMPTY: Reply = { reasoning: "", content: "", calls: [], notes: [] };
const piece = (part: "answer" | "reasoning" | "call", text: string) => ({
  kind: "token" as const,
  token: { id: 1, text, logprob: 0, at: 0, top: [], pieces: [{ part, text }] },
});
const done = (reply: Reply) => ({
  kind: "done" as const,
  reason: "stop" as const,
  sentence: "Ended.",
  stats: STATS,
  reply,
});

it("folds what was thought, shows the call, and goes on with its result", async () => {
  const asked: StreamInputOf<"run.start">["prompt"][] = [];
  const { get } = await openSample({
    streams: {
      async *"run.start"({ prompt }) {
        await Promise.resolve();
        asked.push(prompt);
        if (asked.length === 1) {
          yield piece("reasoning", "hm");
          yield piece("answer", "Looking.");
          yield { kind: "call", call: CALL };
          yield done({ ...EMPTY, reasoning: "hm", content: "Looking.", calls: [CALL] });
        } else {
          yield piece("call", "{broken");
          yield done({ ...EMPTY, content: "<tool_call>{broken", notes: ["A tool call could not be read."] });
        }
      },
    },
  });
  const shown = (): string =>
    renderToStaticMarkup(
      <StoreProvider store={createStore(() => get() as never)}>
        <RunTab />
      </StoreProvider>,
    );
  get().setParameters({ tools: "[{}]", variables: "enable_thinking=true" });
  get().setDraft("Weather?");
  await get().send();
  // The fold is closed: `open` stands in its tag otherwise.
  expect(shown()).toMatch(/<details class="[^"]*"><summary>Thought, 1 token</);
  expect(shown()).toMatch(/data-answer.*?Looking\./s);
  expect(shown()).toContain("Result of weather");
  expect(shown()).toContain("&quot;city&quot;: &quot;Rome&quot;");
  expect(get().lastCommand).toContain("--tools '[{}]' --template-var enable_thinking=true");

  await get().giveResults([{ callId: CALL.id, name: CALL.name, content: "grey" }]);
  expect(asked[1]).toEqual({
    kind: "chat",
    messages: [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: "Looking.", reasoning: "hm", calls: [CALL] },
      { role: "tool", content: "grey", callId: CALL.id, name: CALL.name },
    ],
    tools: "[{}]",
    toolChoice: "auto",
    variables: { enable_thinking: "true" },
  });
  // The first turn takes no result any more; what was no call is text, with a note.
  expect(shown()).not.toContain("Result of weather</span>");
  expect(shown()).toMatch(/weather<\/code> gave.*grey/s);
  expect(shown()).toContain("&lt;tool_call&gt;{broken");
  expect(shown()).toContain("A tool call could not be read.");
  expect(get().runHistory.map(({ prompt }) => prompt)).toEqual(["weather gave: grey", "Weather?"]);
});
