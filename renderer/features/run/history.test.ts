import { describe, expect, it } from "vitest";
import type { Figure } from "../../../main/contract/views/common.ts";
import type { RunStats } from "../../../main/contract/views/run.ts";
import type { RunRecord } from "./history.ts";
import { changedParameters, compareSpeeds, runsJson } from "./history.ts";
import { runCommand } from "./asking.ts";
import { contextLimit } from "./Parameters.tsx";
import {
  DEFAULT_PARAMETERS,
  EMPTY_ANSWER,
  EMPTY_REPLY,
  runRequest,
  toolNames,
  wrongTools,
  wrongVariables,
} from "./request.ts";

const figure = (value: number, unit: Figure["unit"]): Figure => ({
  value,
  low: null,
  high: null,
  unit,
  truth: "measured",
  basis: "",
});
const stats = (rate: number): RunStats => ({
  promptTokens: 12,
  reusedTokens: 4,
  recomputed: null,
  promptSeconds: figure(0.1, "seconds"),
  promptRate: figure(80, "tokens/s"),
  firstTokenSeconds: figure(0.125, "seconds"),
  generated: 9,
  rate: figure(rate, "tokens/s"),
  rateNow: null,
  contextUsed: 21,
  contextSize: 1024,
  cacheBytes: 4096,
});
const run = (part: Partial<RunRecord>): RunRecord => ({
  id: 1,
  at: 0,
  mode: "chat",
  prompt: "What is 7 x 8?",
  messages: [{ role: "user", content: "What is 7 x 8?" }],
  parameters: DEFAULT_PARAMETERS,
  device: "cpu",
  pair: null,
  model: null,
  seed: 42,
  reply: EMPTY_REPLY,
  text: "7 x 8 = 56.",
  stats: stats(100),
  truth: "measured",
  end: "The model ended its answer.",
  errorCode: null,
  ...part,
});

describe("two runs", () => {
  it("are compared by their speeds, the second to the first", () => {
    const rows = compareSpeeds(stats(100), stats(150));
    expect(rows.map(({ label, ratio }) => [label, ratio])).toEqual([
      ["decode", 1.5],
      ["prefill", 1],
      ["first token after", 1],
    ]);
    expect(compareSpeeds(null, stats(1)).every(({ ratio }) => ratio === null)).toBe(true);
  });

  it("say what was asked for differently, and nothing when nothing was", () => {
    expect(changedParameters(run({}), run({ id: 2 }))).toEqual([]);
    const other = run({ seed: 7, parameters: { ...DEFAULT_PARAMETERS, temperature: 0, system: "Be brief." } });
    expect(changedParameters(run({}), other)).toEqual(["temperature 0.7 → 0", "another system prompt", "seed 42 → 7"]);
    const later = run({
      messages: [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hello." },
        { role: "user", content: "What is 7 x 8?" },
      ],
    });
    expect(changedParameters(run({}), later)).toEqual(["another conversation before it"]);
    const told = run({ messages: [{ role: "system", content: "Be brief." }, ...run({}).messages] });
    expect(changedParameters(run({}), told)).toEqual([]);
  });
});

describe("runs as JSON", () => {
  it("hold all that is needed to do them again", () => {
    const origin = { model: "Sample", headerHash: "ab", machine: "a chip", engine: "1.0.0" };
    const parsed = JSON.parse(runsJson(origin, [run({})])) as { runs: unknown[]; format: string };
    expect(parsed).toMatchObject({ format: "rlx-runs", version: 1, ...origin });
    expect(parsed.runs[0]).toMatchObject({
      prompt: "What is 7 x 8?",
      parameters: { temperature: 0.7, topP: 0.95, seed: 42, maxTokens: 512 },
      tokensPerSecond: 100,
      firstTokenSeconds: 0.125,
      text: "7 x 8 = 56.",
      messages: [{ role: "user", content: "What is 7 x 8?" }],
    });
    // The engine never said the seed of a run that failed before it began.
    const failed = run({ seed: null, parameters: { ...DEFAULT_PARAMETERS, seed: 9 } });
    expect(JSON.parse(runsJson(origin, [failed]))).toMatchObject({ runs: [{ parameters: { seed: 9 } }] });
  });
});

describe("a request", () => {
  it("carries calls, results and what was thought, and tells the template what it is to know", () => {
    const calls = [{ id: "c1", name: "f", arguments: "{}" }];
    const asked = { ...EMPTY_ANSWER, text: "raw", reply: { ...EMPTY_REPLY, reasoning: "hm", calls } };
    const turns = [{ id: 1, after: null, prompt: "Weather?", attachments: [], results: [], answer: asked }];
    const results = [{ callId: "c1", name: "f", content: "grey" }];
    const variables = "enable_thinking=false\nno variable";
    const parameters = { ...DEFAULT_PARAMETERS, tools: "[{}]", toolChoice: "f", variables };
    expect(
      runRequest("m", "chat", turns, { prompt: "f gave: grey", results, attachments: [] }, parameters).prompt,
    ).toEqual({
      kind: "chat",
      messages: [
        { role: "user", content: "Weather?" },
        { role: "assistant", content: "", reasoning: "hm", calls },
        { role: "tool", content: "grey", callId: "c1", name: "f" },
      ],
      tools: "[{}]",
      toolChoice: "f",
      variables: { enable_thinking: "false" },
    });
    const without = runRequest(
      "m",
      "chat",
      [],
      { prompt: "Hi", attachments: [], results: [] },
      { ...DEFAULT_PARAMETERS, toolChoice: "required" },
    );
    expect(without.prompt).not.toHaveProperty("toolChoice");
    expect(wrongVariables(parameters.variables)).toEqual(["no variable"]);
    // Nor does the command name what was left out.
    const lists = { variables: " a = 1 \nno variable", logitBias: "15=-2\nx" };
    expect(runCommand("chat", "Hi", { ...parameters, ...lists })).toMatchObject({
      variables: "a=1",
      logitBias: "15=-2",
    });
    expect([wrongTools(""), wrongTools("[]"), wrongTools("{}"), wrongTools("[")].map((each) => each === null)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("names the tools that can be asked for", () => {
    const tools = [{ type: "function", function: { name: "f" } }, { name: "g" }, { name: "f" }, { name: 7 }, null, "h"];
    expect(toolNames(JSON.stringify(tools))).toEqual(["f", "g"]);
    expect([toolNames("["), toolNames("{}"), toolNames("")]).toEqual([[], [], []]);
  });

  it("carries the context length, and leaves failed turns out of the talk", () => {
    const failed = {
      id: 1,
      after: null,
      prompt: "lost",
      attachments: [],
      results: [],
      answer: { ...EMPTY_ANSWER, error: { code: "ENGINE_LOST", message: "gone" } as const },
    };
    const request = runRequest(
      "m",
      "chat",
      [failed],
      { prompt: "Hello", attachments: [], results: [] },
      { ...DEFAULT_PARAMETERS, device: "cpu", context: 256, precision: "mixed", cacheType: "q8_0" },
    );
    expect(request.context).toBe(256);
    expect(request.precision).toBe("mixed");
    expect(request.cacheType).toBe("q8_0");
    expect(request.prompt).toEqual({ kind: "chat", messages: [{ role: "user", content: "Hello" }] });
  });
});

describe("the context", () => {
  it("is never longer than the model was trained for, and the reason is said", () => {
    expect(contextLimit(1024).most).toBe(1024);
    expect(contextLimit(40_960).sentence).toMatch(/trained on 40.960 tokens/);
    expect(contextLimit(null).sentence).toContain("does not say");
  });
});
