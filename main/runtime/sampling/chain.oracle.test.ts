// Each step of the chain beside llama.cpp's own sampler over the same logits: the same tokens are left, with the same probabilities.
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Mirostat, SampleOptions } from "../../ir/session.ts";
import type { SamplerLeft } from "../../testing/llama.ts";
import { llamaForget, llamaMissing, llamaSample } from "../../testing/llama.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { seededRandom } from "../../testing/random.ts";
import { sharedFile, sharedFileMissing } from "../../testing/sharedData.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { GREEDY_DRAW } from "../generate.ts";
import type { Candidates } from "./candidates.ts";
import { sumOf } from "./candidates.ts";
import { adjusted, candidates } from "./chain.ts";
import { breakersOf, dryPenalties } from "./dry.ts";
import { mirostatObserve } from "./mirostat.ts";

const missing = llamaMissing();
const PLAIN: SampleOptions = { ...GREEDY_DRAW, temperature: 1 };
const ROWS = 40;
const random = seededRandom(77);
const below = (count: number): number => Math.floor(random.next() * count);
/** From flat to steep, of odd sizes. */
const logitRows = (count: number, size?: number, least = 0.5): Float32Array[] =>
  Array.from({ length: count }, (_, i) => {
    const spread = least + (i % 8);
    return Float32Array.from({ length: size ?? 3 + below(700) }, () => spread * random.normal());
  });

/** The same ids, each with the same probability within 1e-5. */
function expectSame({ ids, weights }: Candidates, theirs: SamplerLeft, what: string): void {
  const sum = sumOf(weights);
  const shares = new Map(Array.from(ids, (id, i) => [id, weights[i]! / sum]));
  expect(shares.size, what).toBe(theirs.ids.length);
  let worst = 0;
  theirs.ids.forEach((id, i) => {
    const apart = Math.abs((shares.get(id) ?? NaN) - theirs.shares[i]!);
    if (!(apart <= worst)) worst = apart;
  });
  expect(worst, what).toBeLessThan(1e-5);
}

describe.skipIf(missing !== undefined)(`beside llama.cpp ${missing ?? ""}`, () => {
  test.each<readonly [string, readonly number[], Partial<SampleOptions>]>([
    ["temp", [0.6], { temperature: 0.6 }],
    ["top_k", [12], { topK: 12 }],
    ["top_p", [0.83, 0], { topP: 0.83 }],
    ["min_p", [0.07, 0], { minP: 0.07 }],
    ["typical", [0.4, 0], { typicalP: 0.4 }],
    ["typical", [0.95, 0], { typicalP: 0.95 }],
    ["xtc", [1, 0.1, 0, 7], { xtc: { probability: 1, threshold: 0.1 } }],
    ["xtc", [1, 0.02, 0, 7], { xtc: { probability: 1, threshold: 0.02 } }],
    ["xtc", [1, 0.6, 0, 7], { xtc: { probability: 1, threshold: 0.6 } }],
  ])("%s %j", async (kind, values, options) => {
    const rows = logitRows(ROWS);
    const theirs = await llamaSample(
      kind,
      rows.map((row) => [[], row]),
      { arguments: values },
    );
    rows.forEach((row, i) => expectSame(candidates(row, { ...PLAIN, ...options }), theirs[i]!, `row ${i}`));
  });

  test.each([
    [64, 1.3, 0, 0],
    [64, 1, 0.4, 0],
    [64, 1, 0, 0.7],
    [9, 1.1, -0.3, 0.2],
  ])("penalties: last %i, repeat %f, frequency %f, presence %f", async (last, repeat, frequency, presence) => {
    const rows = logitRows(ROWS, 50);
    const texts = rows.map(() => Array.from({ length: 1 + below(5) }, () => below(30)));
    const theirs = await llamaSample(
      "penalties",
      rows.map((row, i) => [texts[i]!, row]),
      { arguments: [50, last, repeat, frequency, presence] },
    );
    const said: number[] = [];
    rows.forEach((row, i) => {
      said.push(...texts[i]!);
      const options = {
        ...PLAIN,
        repeatPenalty: repeat,
        frequencyPenalty: frequency,
        presencePenalty: presence,
        recent: Int32Array.from(said.slice(-last)),
      };
      expectSame(candidates(adjusted(row, options), options), theirs[i]!, `row ${i}`);
    });
  });

  test("logit_bias, a ban among them", async () => {
    const rows = logitRows(ROWS, 60);
    const biases = [
      [3, 2.5],
      [17, -4],
      [59, 0.25],
    ] as const;
    const theirs = await llamaSample(
      "logit_bias",
      rows.map((row) => [[], row]),
      { vocabulary: 60, biases: [...biases.map((pair) => [...pair]), [8, -1e9]] },
    );
    const logitBias = [...biases.map(([id, bias]) => ({ id, bias })), { id: 8, bias: -Infinity }];
    rows.forEach((row, i) => {
      const { ids, weights } = candidates(adjusted(row, { ...PLAIN, logitBias }), PLAIN);
      expect(ids).not.toContain(8);
      expectSame(
        { ids: Int32Array.from([...ids, 8]), weights: Float64Array.from([...weights, 0]) },
        theirs[i]!,
        `row ${i}`,
      );
    });
  });

  // Each keeps its own measure of surprise, which moves with what llama.cpp draws.
  test.each([
    ["mirostat_v2", 5, 0.1],
    ["mirostat_v2", 2, 0.5],
    ["mirostat", 2, 0.1],
    ["mirostat", 3, 0.4],
  ] as const)("%s: target %d, rate %d, through 60 draws", async (kind, tau, eta) => {
    // Of flat rows version 1 expects more than 2^31 tokens, which llama.cpp's integer does not hold: it keeps one, we keep all.
    const rows = logitRows(60, 300, kind === "mirostat" ? 2 : 0.5);
    const theirs = await llamaSample(
      kind,
      rows.map((row) => [[], row]),
      { arguments: kind === "mirostat" ? [300, 5, tau, eta, 100] : [5, tau, eta] },
    );
    const mirostat: Mirostat = { version: kind === "mirostat" ? 1 : 2, tau, eta, state: { mu: 2 * tau } };
    rows.forEach((row, i) => {
      const kept = candidates(row, { ...PLAIN, topK: 3, topP: 0.5, mirostat });
      expectSame(kept, theirs[i]!, `draw ${i}`);
      const chosen = theirs[i]!.ids[theirs[i]!.selected]!;
      mirostatObserve(mirostat, kept.weights[kept.ids.indexOf(chosen)]! / sumOf(kept.weights));
    });
  });

  const shared = (name: string): readonly [string, string, string | undefined] => [
    name,
    sharedFile(`vocab/${name}.gguf`),
    sharedFileMissing(`vocab/${name}.gguf`),
  ];
  const sample = ["sample", join(repositoryRoot, "assets/models/rlx-sample.gguf"), undefined] as const;
  const vocabularies = [sample, shared("gpt-2"), shared("llama-spm")];

  describe.each(vocabularies)("dry over the vocabulary %s", (_, path, absent) => {
    test.skipIf(absent !== undefined)(`loses what llama.cpp takes ${absent ?? ""}`, { timeout: 120_000 }, async () => {
      const file = await openGguf(await openFileSource(path));
      const tokenizer = createTokenizer(file);
      await file.close();
      let penalised = 0;
      for (const texts of [["\n", ":", '"', "*"], ["ab", "the", " and", "é"], []]) {
        const breakers = breakersOf(tokenizer, texts);
        const ends = [...breakers.keys()].slice(0, 6);
        for (const [multiplier, base, allowedLength, last] of [
          [0.8, 1.75, 2, 60],
          [1.5, 1.1, 1, 17],
          [0.3, 1, 3, 1000],
        ] as const) {
          // Few different tokens, so that they repeat; now and then a breaker.
          const said: number[] = [];
          const steps = Array.from({ length: 8 }, (): readonly [readonly number[], Float32Array] => [
            Array.from({ length: 1 + below(12) }, () =>
              random.next() < 0.08 && ends.length > 0 ? ends[below(ends.length)]! : 40 + below(4),
            ),
            Float32Array.from({ length: tokenizer.size }, () => random.normal()),
          ]);
          const theirs = await llamaSample(
            "dry",
            steps.map(([accepted, row]) => [accepted, row]),
            { multiplier, base, allowed_length: allowedLength, last, breakers: texts },
            path,
          );
          steps.forEach(([accepted, row], i) => {
            said.push(...accepted);
            const dry = { multiplier, base, allowedLength, tokens: Int32Array.from(said.slice(-last)), breakers };
            penalised += dryPenalties(dry).size;
            expectSame(candidates(adjusted(row, { ...PLAIN, dry }), PLAIN), theirs[i]!, `step ${i} of ${texts.join()}`);
          });
        }
      }
      expect(penalised).toBeGreaterThan(50);
    });
  });

  afterAll(async () => {
    await llamaForget();
  });
});
