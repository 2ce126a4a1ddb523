// The fastest file whose answers are close to the reference's is taken; without a fair measurement none is.
import { describe, expect, it } from "vitest";
import { benchResultOf, benchTestOf, SUBJECT } from "../../testing/bench.ts";
import { choose } from "../../../main/contract/choice.ts";
import type { QualityFile, QualityResult } from "../../../main/contract/views/quality.ts";

const file = (model: string, kl: number | null): QualityFile => ({
  ...{ model, title: `${model}.gguf`, bytes: 1000, bitsPerWeight: 4, perplexity: 10 },
  divergence: kl === null ? null : { mean: kl, error: kl / 10, median: kl, high: kl * 4 },
  sameTop: kl === null ? null : 0.93,
});
const quality = (...files: QualityFile[]): QualityResult => ({ kind: "done", tokens: 512, textTokens: 512, files });
const speeds = (rates: Readonly<Record<string, number>>, red: readonly string[] = []) =>
  benchResultOf(
    Object.values(rates).map((rate, subject) => benchTestOf("tg", Array<number>(6).fill(rate), { subject })),
    { subjects: Object.keys(rates).map((model) => ({ ...SUBJECT, model })), red: [...red] },
  );
const FILES = quality(file("f16", null), file("q8", 0.001), file("q4", 0.04), file("q2", 0.6));
const RATES = { f16: 10, q8: 18, q4: 31, q2: 40 };

describe("the file to take", () => {
  it("is the fastest of those that are close", () => {
    const { taken, sentence, rows } = choose(FILES, speeds(RATES));
    expect(rows[taken ?? -1]?.model).toBe("q4");
    expect(sentence).toBe(
      "Take q4.gguf: 3.10 × the speed of f16.gguf, and 93 % of the likeliest tokens are the same (KL 0.040 nats).",
    );
    expect(rows.map(({ close, beaten }) => [close, beaten])).toEqual([
      [true, false],
      [true, false],
      [true, false],
      [false, false],
    ]);
  });

  it("follows the bound that is asked for", () => {
    expect(choose(FILES, speeds(RATES), 0.01).taken).toBe(1);
    expect(choose(FILES, speeds(RATES), 1).taken).toBe(3);
  });

  it("is the reference where nothing close is faster", () => {
    const slow = choose(quality(file("f16", null), file("q4", 0.01)), speeds({ f16: 10, q4: 9 }));
    expect(slow).toMatchObject({ taken: 0, sentence: "Take f16.gguf: no faster file stays within 0.05 nats of it." });
    expect(slow.rows.map(({ beaten }) => beaten)).toEqual([false, true]);
  });

  it("is nothing where speeds were not measured, or not fairly", () => {
    expect(choose(FILES, null)).toMatchObject({ taken: null, sentence: "No speed was measured." });
    const red = choose(FILES, speeds({ f16: 10, q8: 9, q4: 31, q2: 40 }, ["Load 9.8 on 2 processors"]));
    expect(red.taken).toBeNull();
    expect(red.sentence).toContain("Load 9.8 on 2 processors");
    expect(red.rows.some(({ beaten }) => beaten)).toBe(false);
  });
});
