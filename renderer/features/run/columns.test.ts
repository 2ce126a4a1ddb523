import { testDevice } from "../../devices/testDevices.ts";
import { describe, expect, it } from "vitest";
import type { TokenView } from "../../../main/contract/views/run.ts";
import type { Column } from "./columns.ts";
import { comparedSentence, divergenceOf, divergences, firstDifference, speedRatio } from "./columns.ts";
import { DEFAULT_PARAMETERS, EMPTY_ANSWER } from "./request.ts";
import { otherDevice } from "./RunBar.tsx";

const token = (id: number): TokenView => ({ id, text: ` w${id}`, logprob: Math.log(0.5), at: 0, top: [], pieces: [] });
const tokens = (...ids: readonly number[]): readonly TokenView[] => ids.map(token);
const OPEN = { left: false, right: false };

describe("the first token that differs", () => {
  it("is found wherever it stands, and is none in equal answers", () => {
    expect(firstDifference(tokens(1, 2, 3), tokens(1, 2, 3), OPEN)).toBe(-1);
    expect(firstDifference(tokens(1, 2, 3), tokens(1, 9, 3), OPEN)).toBe(1);
    expect(firstDifference(tokens(8), tokens(9), OPEN)).toBe(0);
    expect(firstDifference([], [], { left: true, right: true })).toBe(-1);
  });

  it("is the end of the shorter answer only once that has ended", () => {
    expect(firstDifference(tokens(1, 2), tokens(1, 2, 3), OPEN)).toBe(-1);
    expect(firstDifference(tokens(1, 2), tokens(1, 2, 3), { left: false, right: true })).toBe(-1);
    expect(firstDifference(tokens(1, 2), tokens(1, 2, 3), { left: true, right: false })).toBe(2);
    expect(firstDifference(tokens(1, 2, 3), tokens(1, 2), { left: false, right: true })).toBe(2);
  });
});

const side = (id: number, ids: readonly number[], part: Partial<Column> = {}): Column => ({
  id,
  parameters: DEFAULT_PARAMETERS,
  model: null,
  state: "done",
  sentence: "",
  answer: { ...EMPTY_ANSWER, tokens: tokens(...ids) },
  rates: [],
  ...part,
});
const two = (left: Column, right: Column) => [left, right] as const;

describe("what a comparison says", () => {
  it("names the token and how likely each side thought its own", () => {
    const parted = two(side(1, [1, 2, 3]), side(2, [1, 2, 4]));
    expect(divergenceOf(...parted)).toEqual({ first: 2, other: 2 });
    expect(comparedSentence(...parted)).toBe('They diverge at token 3: " w3" (50\u202f%) and " w4" (50\u202f%).');
    expect(comparedSentence(side(1, [1]), side(2, [1, 2]))).toContain('the end and " w2"');
  });

  it("speaks of sameness only as far as it knows", () => {
    expect(comparedSentence(side(1, [1, 2]), side(2, [1, 2]))).toBe("All 2 tokens are the same.");
    expect(comparedSentence(side(1, [1, 2]), side(2, [1], { state: "running" }))).toBe("The same for 1 token so far.");
    expect(comparedSentence(side(1, [1, 2]), side(2, [], { state: "waiting" }))).toBe("");
    const failed = { answer: { ...EMPTY_ANSWER, error: { code: "RUN_FAILED", message: "no" } as const } };
    expect(comparedSentence(side(1, []), side(2, [], failed))).toContain("failed");
  });

  it("compares models with vocabularies of their own by their letters", () => {
    const written = (id: number, texts: readonly string[]) => ({
      ...side(id, []),
      answer: { ...EMPTY_ANSWER, tokens: texts.map((text, i) => ({ ...token(100 * id + i), text })) },
    });
    const model = { path: "/b.gguf", title: "B" };
    const [first, other] = [written(1, ["Once", " upon", " a"]), { ...written(2, ["On", "ce", " up", "pity"]), model }];
    expect(divergenceOf(first, other)).toEqual({ first: 1, other: 3 });
    expect(comparedSentence(first, other)).toContain("They diverge at tokens 2 and 4");
    expect(divergenceOf(first, { ...written(2, ["Once upon", " a"]), model })).toBeNull();
    const shorter = { ...written(2, ["Once upon"]), model };
    expect(divergenceOf(first, shorter)).toEqual({ first: 2, other: 1 });
    // The first column is marked where the earliest of the others differs.
    expect(divergences([first, shorter, other])).toEqual([1, 1, 3]);
  });

  it("takes no answer that was stopped or failed for one that the model ended", () => {
    const cut = (...ids: readonly number[]) => ({ answer: { ...EMPTY_ANSWER, tokens: tokens(...ids), cut: true } });
    const stopped = two(side(1, [1, 2, 3]), side(2, [], cut(1, 2)));
    expect(divergenceOf(...stopped)).toBeNull();
    expect(comparedSentence(...stopped)).toBe("Stopped; the same for 2 tokens until then.");
    expect(comparedSentence(side(1, [1, 2, 3]), side(2, [], cut()))).toBe("Stopped before both wrote.");
    expect(comparedSentence(side(1, [1]), side(2, [], cut(1, 2)))).toContain('the end and " w2"');
    const failed = { answer: { ...cut(1).answer, error: { code: "RUN_FAILED", message: "no" } as const } };
    expect(comparedSentence(side(1, [1, 2]), side(2, [], failed))).toContain("failed");
    expect(comparedSentence(side(1, [1, 2]), side(2, [], cut(1, 9)))).toContain("They diverge at token 2");
  });

  it("has a ratio of speeds only when both have ended and measured one", () => {
    const rate = (value: number): Column["answer"]["stats"] => {
      const figure = { value, low: null, high: null, unit: "tokens/s", truth: "measured", basis: "" } as const;
      return {
        promptTokens: 1,
        reusedTokens: 0,
        recomputed: null,
        promptSeconds: figure,
        promptRate: null,
        firstTokenSeconds: null,
        generated: 2,
        rate: figure,
        rateNow: null,
        contextUsed: 2,
        contextSize: 8,
        cacheBytes: 0,
      };
    };
    const at = (value: number): Column["answer"] => ({ ...EMPTY_ANSWER, stats: rate(value) });
    expect(speedRatio(side(1, [], { answer: at(50) }), side(2, [], { answer: at(100) }))).toBe(2);
    expect(speedRatio(side(1, [], { answer: at(50) }), side(2, [], { answer: at(100), state: "running" }))).toBeNull();
    expect(speedRatio(side(1, []), side(2, []))).toBeNull();
    const simulated = side(2, [], { answer: { ...at(100), truth: "simulated" } });
    expect(speedRatio(side(1, [], { answer: at(50) }), simulated)).toBeNull();
  });
});

describe("the device that stands beside another", () => {
  const device = (id: string, available = true) => testDevice(id, { available });
  it("is a real one before the simulator, and none where there is no other", () => {
    expect(otherDevice([device("cpu"), device("coreml-sim"), device("mlx")], ["cpu"])).toBe("mlx");
    expect(otherDevice([device("cpu"), device("coreml-sim"), device("mlx", false)], ["cpu"])).toBe("coreml-sim");
    expect(otherDevice([device("cpu"), device("mlx", false)], ["cpu"])).toBeNull();
  });
});
