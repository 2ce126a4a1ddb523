// The chain's one meaning: the CPU engine draws what TypeScript draws, token by token, and chains that it does not take are drawn over its logits.
import { expect, test } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { GraphSession, SampleOptions } from "../../ir/session.ts";
import { tensor } from "../../ir/type.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { seededRandom } from "../../testing/random.ts";
import { cpuDevice } from "../devices/cpu.ts";
import { GREEDY_DRAW } from "../generate.ts";
import { draw } from "../sampleRows.ts";
import { takesAllSteps, tokensOf } from "../tokenRuns.ts";

const VOCABULARY = 5003;
const PLAIN: SampleOptions = { ...GREEDY_DRAW, temperature: 1, seed: 11, alternatives: 3 };
const recent = Int32Array.from({ length: 40 }, (_, i) => (i * i) % 300);

async function onRow(work: (session: GraphSession) => Promise<void>): Promise<void> {
  const builder = new GraphBuilder(opTable, "row");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [1, VOCABULARY]));
  builder.output("y", g.neg([g.neg([x])]));
  const compiled = cpuDevice(loadAddon(), { threads: 2 }).compile(builder.finish());
  const session = compiled.open();
  try {
    await work(session);
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

const TAKEN: readonly (readonly [string, Partial<SampleOptions>])[] = [
  ["temperature", { temperature: 0.8 }],
  ["greedy with a penalty", { temperature: 0, repeatPenalty: 1.7, recent }],
  ["top-k, top-p, min-p", { topK: 40, topP: 0.95, minP: 0.02 }],
  ["top-p of all", { topP: 0.7 }],
  ["every penalty", { repeatPenalty: 1.2, frequencyPenalty: 0.3, presencePenalty: -0.4, recent, temperature: 0.7 }],
  [
    "a bias and a ban",
    {
      topK: 20,
      logitBias: [
        { id: 7, bias: 6 },
        { id: 9, bias: -Infinity },
        { id: 5002, bias: 5 },
      ],
    },
  ],
];
const NOT_TAKEN: readonly (readonly [string, Partial<SampleOptions>])[] = [
  ["typical", { typicalP: 0.3 }],
  ["XTC", { topK: 50, xtc: { probability: 0.5, threshold: 0.05 } }],
  [
    "DRY",
    { dry: { multiplier: 4, base: 2, allowedLength: 1, tokens: Int32Array.of(1, 2, 3, 1, 2), breakers: new Map() } },
  ],
];

test.each([...TAKEN, ...NOT_TAKEN])("%s: the same tokens", async (name, settings) => {
  await onRow(async (session) => {
    const random = seededRandom(5);
    const taken = TAKEN.some(([other]) => other === name);
    expect(takesAllSteps(tokensOf(session), { ...PLAIN, ...settings })).toBe(taken);
    for (let step = 0; step < 120; step++) {
      const x = Float32Array.from({ length: VOCABULARY }, () => 1.5 * random.normal());
      const sample = { ...PLAIN, ...settings, step };
      const { sampled } = await tokensOf(session).run({ inputs: { x }, logits: "y", sample });
      const here = draw(hostTensor("f32", [1, VOCABULARY], Float64Array.from(x)), sample);
      expect(sampled!.id, `step ${step}`).toBe(here.id);
      expect(Math.abs(sampled!.logprob - here.logprob)).toBeLessThan(1e-4);
      expect(sampled!.top.map(({ id }) => id)).toEqual(here.top.map(({ id }) => id));
    }
  });
});

test("presence counts a token once, frequency each time", async () => {
  await onRow(async (session) => {
    const x = Float32Array.from({ length: VOCABULARY }, (_, id) => (id < 3 ? 10 - id : 0));
    const sample: SampleOptions = { ...PLAIN, temperature: 0, presencePenalty: 1.5, recent: Int32Array.of(0) };
    const { sampled } = await tokensOf(session).run({ inputs: { x }, logits: "y", sample });
    expect(sampled!.id).toBe(1);
    const twice = { ...sample, frequencyPenalty: 1, presencePenalty: 0, recent: Int32Array.of(0, 0, 0, 1, 1) };
    expect((await tokensOf(session).run({ inputs: { x }, logits: "y", sample: twice })).sampled!.id).toBe(2);
  });
});
