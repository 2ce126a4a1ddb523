// Drawing on MLX: what comes out follows the probabilities that the settings define (worked out here, in float64, from their
// definition), it is the same for the same seed, and it is the CPU engine's token but for rounding.
import { afterAll, describe, expect, test } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import type { Device } from "../../runtime/device.ts";
import type { GraphSession, TokenResult, SampleOptions } from "../../ir/session.ts";
import { tokensOf } from "../../runtime/tokenRuns.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import type { MlxEngine } from "./engine.ts";
import { seededRandom } from "../../testing/random.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { GREEDY_DRAW } from "../../runtime/generate.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;
const cpu = loadAddon();

const VOCABULARY = 300;
const PLAIN: SampleOptions = { ...GREEDY_DRAW, temperature: 1, seed: 5 };
/** Two normal ones make a few likely tokens and a long tail. */
const random = seededRandom(21);
const LOGITS = Float32Array.from({ length: VOCABULARY }, () => 2 * random.normal());

function rowGraph(vocabulary: number): Graph {
  const builder = new GraphBuilder(opTable, "row");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [1, vocabulary]));
  builder.output("y", g.neg([g.neg([x])]));
  return builder.finish();
}

async function onRow<T>(
  device: Device,
  vocabulary: number,
  work: (draw: (logits: Float32Array, sample: SampleOptions) => Promise<TokenResult>, raw: GraphSession) => Promise<T>,
): Promise<T> {
  const compiled = device.compile(rowGraph(vocabulary));
  const session = compiled.open();
  try {
    return await work((x, sample) => tokensOf(session).run({ inputs: { x }, logits: "y", sample }), session);
  } finally {
    session.dispose();
    compiled.dispose();
  }
}
const onMlx = (): Device => mlxDevice(mlx, { mode: "compiled" });
const onCpu = (): Device => cpuDevice(cpu, { threads: 1 });

/** The probabilities from the definition of the settings. */
function probabilities(logits: Float32Array, s: SampleOptions): Float64Array {
  const scores = Float64Array.from(logits);
  for (const { id, bias } of s.logitBias ?? []) scores[id] = (scores[id] ?? 0) + bias;
  for (const id of new Set(s.recent)) {
    const score = scores[id] ?? 0;
    const times = s.recent.filter((other) => other === id).length;
    const taken = times * (s.frequencyPenalty ?? 0) + (s.presencePenalty ?? 0);
    scores[id] = (score > 0 ? score / s.repeatPenalty : score * s.repeatPenalty) - taken;
  }
  const order = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b);
  const head = s.topK === 0 ? order : order.slice(0, s.topK);
  const weight = (id: number): number => Math.exp((scores[id]! - scores[order[0]!]!) / s.temperature);
  const total = head.reduce((sum, id) => sum + weight(id), 0);
  let before = 0;
  const kept = head.filter((id, i) => {
    const inside = i === 0 || (before < s.topP * total && weight(id) >= s.minP);
    before += weight(id);
    return inside;
  });
  const sum = kept.reduce((most, id) => most + weight(id), 0);
  const result = new Float64Array(logits.length);
  for (const id of kept) result[id] = weight(id) / sum;
  return result;
}

/** Pearson's sum over tokens that are expected at least five times (the others together), in standard deviations. */
function surprise(counts: Float64Array, expected: Float64Array, draws: number): number {
  let sum = 0;
  let cells = 0;
  let [restCount, restExpected] = [0, 0];
  expected.forEach((p, id) => {
    if (p * draws < 5) {
      restCount += counts[id]!;
      restExpected += p * draws;
      return;
    }
    sum += (counts[id]! - p * draws) ** 2 / (p * draws);
    cells++;
  });
  if (restExpected >= 5) {
    sum += (restCount - restExpected) ** 2 / restExpected;
    cells++;
  }
  return (sum - (cells - 1)) / Math.sqrt(2 * Math.max(1, cells - 1));
}

const SETTINGS: readonly (readonly [string, Partial<SampleOptions>])[] = [
  ["temperature 1", {}],
  ["temperature 0.7", { temperature: 0.7 }],
  ["temperature 2", { temperature: 2 }],
  ["top-k", { topK: 12 }],
  ["top-p", { topP: 0.8 }],
  ["min-p", { minP: 0.1 }],
  ["repetition penalty", { repeatPenalty: 1.8, recent: Int32Array.from({ length: 64 }, (_, i) => (i * 5) % 290) }],
  [
    "logit bias",
    {
      logitBias: [
        { id: 3, bias: 4 },
        { id: 299, bias: 2 },
      ],
    },
  ],
  [
    "frequency and presence penalty",
    { frequencyPenalty: 0.5, presencePenalty: 0.7, recent: Int32Array.from({ length: 64 }, (_, i) => (i * i) % 50) },
  ],
  [
    "all of them",
    {
      temperature: 0.9,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      repeatPenalty: 1.1,
      recent: Int32Array.of(3, 3, 299, -1, 900),
    },
  ],
];
const DRAWS = 2000;

describe.skipIf(missing !== undefined)(`drawing on MLX ${missing ?? ""}`, () => {
  test.each(SETTINGS)("%s: follows the probabilities, and the CPU engine's draws", async (_, settings) => {
    const sample = { ...PLAIN, ...settings };
    const drawn = (
      draw: (logits: Float32Array, sample: SampleOptions) => Promise<TokenResult>,
    ): Promise<TokenResult[]> =>
      Promise.all(Array.from({ length: DRAWS }, (_each, step) => draw(LOGITS, { ...sample, step })));
    const mine = await onRow(onMlx(), VOCABULARY, drawn);
    const theirs = await onRow(onCpu(), VOCABULARY, drawn);
    const inRange = { ...sample, recent: sample.recent.filter((id) => id >= 0 && id < VOCABULARY) };
    const expected = probabilities(LOGITS, inRange);
    const counts = new Float64Array(VOCABULARY);
    let same = 0;
    mine.forEach(({ sampled }, i) => {
      counts[sampled!.id] = (counts[sampled!.id] ?? 0) + 1;
      expect(expected[sampled!.id]).toBeGreaterThan(0);
      if (sampled!.id !== theirs[i]!.sampled!.id) return;
      same++;
      expect(Math.abs(sampled!.logprob - theirs[i]!.sampled!.logprob)).toBeLessThan(1e-5);
    });
    expect(surprise(counts, expected, DRAWS)).toBeLessThan(4);
    // The test can fail: what another setting gives does not fit.
    expect(
      surprise(counts, probabilities(LOGITS, { ...inRange, temperature: 0.8 * sample.temperature }), DRAWS),
    ).toBeGreaterThan(6);
    expect(same).toBeGreaterThan(0.998 * DRAWS);
  });

  test("the same seed gives the same tokens, another one does not", async () => {
    await onRow(onMlx(), VOCABULARY, async (draw) => {
      const ids = async (seed: number): Promise<(number | undefined)[]> =>
        (await Promise.all(Array.from({ length: 50 }, (_, step) => draw(LOGITS, { ...PLAIN, seed, step })))).map(
          ({ sampled }) => sampled?.id,
        );
      const first = await ids(1);
      expect(await ids(1)).toEqual(first);
      expect(await ids(2)).not.toEqual(first);
    });
  });

  test("greedy, top-1, penalised and with alternatives: the CPU engine's answer", async () => {
    const cases: readonly Partial<SampleOptions>[] = [
      { temperature: 0, alternatives: 5 },
      { topK: 1, alternatives: 400 },
      {
        temperature: 0,
        repeatPenalty: 3,
        recent: Int32Array.of(LOGITS.indexOf(LOGITS.reduce((a, b) => Math.max(a, b)))),
      },
      { temperature: 1e-40 },
      { topP: 0 },
      { minP: 2 },
      { topK: 5, topP: 1e-9, alternatives: 1 },
    ];
    for (const settings of cases) {
      const sample = { ...PLAIN, ...settings };
      const mine = (await onRow(onMlx(), VOCABULARY, (draw) => draw(LOGITS, sample))).sampled!;
      const theirs = (await onRow(onCpu(), VOCABULARY, (draw) => draw(LOGITS, sample))).sampled!;
      expect(mine.id, JSON.stringify(settings)).toBe(theirs.id);
      expect(mine.top.map(({ id }) => id)).toEqual(theirs.top.map(({ id }) => id));
      mine.top.forEach(({ logprob }, i) => expect(Math.abs(logprob - theirs.top[i]!.logprob)).toBeLessThan(1e-5));
    }
  });

  test("a run that follows a draw counts its token for the penalty", async () => {
    const [a, b] = [LOGITS.slice(), LOGITS.slice()];
    // Token 7 is likeliest by far; penalised, it is not.
    for (const row of [a, b]) row.fill(-5).set([9, 8], 7);
    const builder = new GraphBuilder(opTable, "follow");
    const g = typedBuilder(builder);
    const x = builder.input("x", tensor("f32", [1, VOCABULARY]));
    const token = builder.input("token", tensor("i32", [1]));
    builder.output("y", g.add([x, g.cast([g.mul([token, g.sub([token, token])])], { to: "f32" })]));
    const compiled = mlxDevice(mlx, { mode: "lazy" }).compile(builder.finish());
    const session = compiled.open();
    const sample = { ...PLAIN, temperature: 0, repeatPenalty: 2 };
    const first = session.tokens.run({ inputs: { x: a, token: Int32Array.of(0) }, logits: "y", sample });
    const second = session.tokens.run({ inputs: { x: b }, follow: "token", logits: "y", sample });
    expect((await first).sampled?.id).toBe(7);
    expect((await second).sampled?.id).toBe(8);
    session.dispose();
    compiled.dispose();
  });

  test("a wide row, and logits that are not finite", async () => {
    const wide = Float32Array.from({ length: 20_000 }, (_, i) => Math.sin(i * 12.9898) * 4);
    await onRow(onMlx(), wide.length, async (draw, session) => {
      const sample = { ...PLAIN, topP: 0.9, step: 3 };
      const theirs = await onRow(onCpu(), wide.length, (other) => other(wide, sample));
      expect((await draw(wide, sample)).sampled?.id).toBe(theirs.sampled?.id);
      const broken = draw(new Float32Array(wide.length).fill(NaN), sample);
      await expect(broken).rejects.toMatchObject({
        code: "RUN_FAILED",
        message: expect.stringContaining("not finite"),
      });
      // The session goes on.
      await session.run({ inputs: { x: wide }, fetch: ["y"] });
    });
  });
});

afterAll(() => {
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
