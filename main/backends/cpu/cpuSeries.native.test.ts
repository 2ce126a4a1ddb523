// A series of tokens in one run gives what as many runs give, whatever is asked of the draw; what it can't do is refused.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SampledToken, SampleOptions, Series, TokenRun, GraphSession } from "../../ir/session.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { INPUTS, LOGITS } from "../../models/blocks.ts";
import type { DecoderModel } from "../../runtime/decoderModel.ts";
import { openDecoder } from "../../runtime/devices/cpu.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import { GREEDY_DRAW } from "../../runtime/generate.ts";
import { cancelledInTheMiddle } from "../../testing/cancelled.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-series-"));
const path = join(folder, "tiny.gguf");
let file: GgufFile;
let model: DecoderModel;
beforeAll(async () => {
  await writeTinyGguf(path);
  file = await openGguf(await openFileSource(path));
  model = openDecoder(loadAddon(), file, [path], { threads: 2 });
});
afterAll(async () => {
  model.dispose();
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});

const PLAIN: SampleOptions = { ...GREEDY_DRAW, seed: 7, alternatives: 2 };
const LIVELY = { ...PLAIN, temperature: 1.3, topK: 40, topP: 0.95 };
const FIRST = 50;

/** Tokens drawn one run at a time, what the penalty counts given by hand. */
async function stepByStep(session: DecoderSession, sample: SampleOptions, count: number): Promise<SampledToken[]> {
  const drawn: SampledToken[] = [];
  for (let step = 0; step < count; step++) {
    const counted = [...sample.recent, ...drawn.map(({ id }) => id)].slice(-(sample.window ?? Infinity));
    const penalises = sample.repeatPenalty !== 1 || sample.frequencyPenalty !== undefined;
    const recent = penalises ? Int32Array.from(counted) : sample.recent;
    const next = { ...sample, recent, step: sample.step + step };
    drawn.push((await session.feed([drawn.at(-1)?.id ?? FIRST], { sample: next }))!);
  }
  return drawn;
}

const series = (count: number, endings: readonly number[] = []): Series => ({
  count,
  token: INPUTS.tokens,
  position: INPUTS.past,
  endings: Int32Array.from(endings),
});
const request = (past: number, more: Partial<TokenRun>): TokenRun => ({
  inputs: {
    [INPUTS.past]: Int32Array.of(past),
    [INPUTS.rows]: Int32Array.of(0),
    ...(more.follow === undefined ? { [INPUTS.tokens]: Int32Array.of(FIRST) } : {}),
  },
  logits: LOGITS,
  sample: PLAIN,
  ...more,
});
const codeOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "ran",
    (error: unknown) => toWireError(error).code,
  );

const openCompiled = (capacity = 64): GraphSession => model.compiled.open({ symbols: { capacity } });

describe("a series", () => {
  test.each([
    ["greedy", PLAIN],
    ["drawn", LIVELY],
    ["with a penalty", { ...LIVELY, repeatPenalty: 1.7, recent: Int32Array.of(3, 9), window: 4 }],
    ["with a penalty by frequency", { ...LIVELY, frequencyPenalty: 0.6, recent: Int32Array.of(3, 9) }],
    ["with a penalty for all", { ...PLAIN, repeatPenalty: 1.7 }],
  ] as const)("%s gives what single runs give, and so does the one that follows it", async (_, sample) => {
    const single = model.open({ context: 64 });
    const several = openCompiled();
    const wanted = await stepByStep(single, sample, 12);
    const first = await several.tokens!.run(request(0, { sample, series: series(5) }));
    const second = await several.tokens!.run(
      request(5, { sample: { ...sample, step: 5 }, series: series(7), follow: INPUTS.tokens }),
    );
    expect(first.sampled).toBeUndefined();
    expect([...(first.series ?? []), ...(second.series ?? [])]).toEqual(wanted);
    single.dispose();
    several.dispose();
  });

  test("ends with an ending, and nothing follows it", async () => {
    const single = model.open({ context: 64 });
    const wanted = await stepByStep(single, LIVELY, 12);
    single.dispose();
    const session = openCompiled();
    const at = wanted.findIndex(({ id }, i) => i >= 3 && wanted.slice(0, i).every((earlier) => earlier.id !== id));
    expect(at).toBeGreaterThan(0);
    const ending = wanted[at]!.id;
    for (const count of [12, at + 1]) {
      const run = request(0, { sample: LIVELY, series: series(count, [ending, -1]) });
      expect((await session.tokens!.run(run)).series).toEqual(wanted.slice(0, at + 1));
      expect(await codeOf(session.tokens!.run(request(at + 1, { follow: INPUTS.tokens })))).toBe("INPUT_ARGUMENT");
    }
    session.dispose();
  });

  test("refuses what it can't do, and leaves the session as it was", async () => {
    const session = openCompiled();
    const wanted = (await session.tokens!.run(request(0, { series: series(4) }))).series ?? [];
    expect((await session.tokens!.run(request(0, { series: series(3) }))).series).toEqual(wanted.slice(0, 3));
    const { sample: _, ...undrawn } = request(0, { series: series(3) });
    const refused: readonly TokenRun[] = [
      undrawn,
      request(0, { series: series(0) }),
      request(0, { series: series(3), fetch: [LOGITS] }),
      request(0, { series: series(3), profile: true }),
      request(0, { series: series(3), score: Int32Array.of(-1) }),
      request(0, { series: { ...series(1), token: "nothing" } }),
      request(0, { series: { ...series(1), position: LOGITS } }),
      request(0, { series: { ...series(3), position: INPUTS.tokens } }),
    ];
    for (const run of refused) expect(await codeOf(session.tokens!.run(run))).toBe("INPUT_ARGUMENT");
    expect((await session.tokens!.run(request(3, { follow: INPUTS.tokens }))).sampled).toEqual(wanted[3]);
    expect(await codeOf(session.tokens!.run(request(60, { series: series(8) })))).toBe("RUN_CONTEXT_FULL");
    expect((await session.tokens!.run(request(0, { series: series(4) }))).series).toEqual(wanted);
    session.dispose();
  });

  test("is cancelled between two tokens, and nothing follows what was", async () => {
    const session = openCompiled(8192);
    const { seconds } = await session.tokens!.run(request(0, { series: series(200) }));
    const run = (signal: AbortSignal): Promise<unknown> =>
      session.tokens!.run(request(0, { series: series(8000) }), signal);
    expect(await cancelledInTheMiddle(run, 1000 * seconds)).toMatchObject({ all: 8000, of: "tokens" });
    expect(await codeOf(session.tokens!.run(request(1, { follow: INPUTS.tokens })))).toBe("INPUT_ARGUMENT");
    session.dispose();
  });

  test("goes through draw: the same text whether tokens come one by one or together", async () => {
    const [single, several] = [model.open({ context: 64 }), model.open({ context: 64 })];
    const wanted = await stepByStep(single, LIVELY, 40);
    const drawn: SampledToken[] = [];
    for await (const { id, logprob, top } of several.draw(FIRST, {
      count: 40,
      sampling: (_given, step) => ({ ...LIVELY, step }),
    }))
      drawn.push({ id, logprob, top });
    expect(drawn).toEqual(wanted);
    expect(several.tokens).toEqual([FIRST, ...wanted.slice(0, -1).map(({ id }) => id)]);
    single.dispose();
    several.dispose();
  });
});

describe("a draw", () => {
  const DRAWS = 4000;

  /** Logits behind the first token. */
  async function logitsOf(session: GraphSession): Promise<Float32Array> {
    const { sample: _, ...plain } = request(0, { fetch: [LOGITS] });
    const { bytes } = (await session.run(plain)).outputs[LOGITS]!;
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  }

  test.each([0.5, 1, 2])("at temperature %d has the probabilities of the logits divided by it", async (temperature) => {
    // One thread: thousands of runs of a tiny model would mostly wait for a second one.
    const single = openDecoder(loadAddon(), file, [path], { threads: 1 });
    const session = single.compiled.open({ symbols: { capacity: 64 } });
    const logits = [...(await logitsOf(session))];
    const weights = logits.map((logit) => Math.exp((logit - Math.max(...logits)) / temperature));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const counts = logits.map(() => 0);
    for (let step = 0; step < DRAWS; step++) {
      const { sampled } = await session.tokens!.run(request(0, { sample: { ...PLAIN, temperature, step } }));
      counts[sampled!.id]! += 1;
    }
    session.dispose();
    single.dispose();
    // Pearson's sum over what is expected ten times or more; the rest is one place.
    const places: [drawn: number, expected: number][] = [[0, 0]];
    for (const [id, weight] of weights.entries()) {
      const expected = (DRAWS * weight) / total;
      if (expected >= 10) places.push([counts[id]!, expected]);
      else places[0] = [places[0]![0] + counts[id]!, places[0]![1] + expected];
    }
    const used = places.filter(([, expected]) => expected > 0);
    const chi = used.reduce((sum, [drawn, expected]) => sum + (drawn - expected) ** 2 / expected, 0);
    const freedom = used.length - 1;
    expect(freedom).toBeGreaterThan(20);
    // Mean and deviation of the sum are `freedom` and the root of twice that.
    expect(chi).toBeLessThan(freedom + 5 * Math.sqrt(2 * freedom));
  });

  test("of the same seed gives the same text, and of another seed another", async () => {
    const text = async (seed: number): Promise<number[]> => {
      const session = openCompiled();
      const run = await session.tokens!.run(request(0, { sample: { ...LIVELY, seed }, series: series(40) }));
      session.dispose();
      return (run.series ?? []).map(({ id }) => id);
    };
    const texts = [await text(1), await text(2), await text(3)];
    expect(texts[0]).toHaveLength(40);
    expect(await text(1)).toEqual(texts[0]);
    expect(new Set(texts.map((ids) => ids.join(" "))).size).toBe(3);
  });
});
