// The same on the CPU engine, whose states are updated in place: a reused prefix, drawn tokens in vain, copies.
import { afterAll, beforeAll, expect, it } from "vitest";
import { tensorBytes } from "../ir/hostBytes.ts";
import { loadAddon } from "../node/native/addon.ts";
import { RECURRENT, recurrentModel } from "../testing/recurrentModel.ts";
import { tinyParam } from "../testing/tinyModels.ts";
import type { WeightFile } from "../testing/weightFile.ts";
import { weightFile } from "../testing/weightFile.ts";
import { DecoderSession } from "./decoderSession.ts";
import type { CompiledGraph } from "./device.ts";
import { cpuDevice } from "./devices/cpu.ts";
import { GREEDY } from "./generate.ts";

const { vocabulary, chunk, capacity } = RECURRENT;
let compiled: CompiledGraph;
let weights: WeightFile;
beforeAll(() => {
  const graph = recurrentModel("checkpoint");
  weights = weightFile(graph, (name, type) => {
    const { data, shape } = tinyParam(name, type);
    return tensorBytes({ dtype: "f32", shape, data });
  });
  compiled = cpuDevice(loadAddon(), { threads: 2, weights }).compile(graph);
});
afterAll(() => {
  compiled.dispose();
  weights.remove();
});

const open = (): DecoderSession =>
  new DecoderSession(compiled.open(), { capacity, vocabulary, chunk, rewind: compiled.rewind });
async function fresh(tokens: readonly number[]): Promise<Float32Array> {
  const session = open();
  await session.feed(tokens.slice(0, -1));
  return session.logits(tokens.slice(-1), [0]);
}
const near = (got: Float32Array, expected: Float32Array): void =>
  got.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 4));

const PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7];

it("a reused prefix of a recurrent model gives the logits of a fresh run", async () => {
  const session = open();
  await session.feed(PROMPT);
  const other = [...PROMPT.slice(0, 6), 40, 41, 42];
  const kept = session.reuse(other);
  await session.feed(other.slice(kept, -1));
  near(await session.logits(other.slice(-1), [0]), await fresh(other));
});

it("tokens that were drawn in vain are forgotten, and a copy has its place", async () => {
  const session = open();
  await session.feed(PROMPT);
  const sampling = { ...GREEDY, recent: new Int32Array(0), seed: 0, step: 0, alternatives: 0 };
  for await (const token of session.draw(5, { count: 20, sampling: () => sampling })) if (token.id >= 0) break;
  const held = [...PROMPT, 5];
  expect(session.tokens).toEqual(held);
  const restored = open();
  await restored.restore(await session.save());
  for (const each of [session, restored]) near(await each.logits([20], [0]), await fresh([...held, 20]));
});
