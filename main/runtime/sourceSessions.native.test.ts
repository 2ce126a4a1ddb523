// Sessions of an encoder-decoder on each device: the text that was read belongs to the session, is read once, and goes with forks
// and saved states; another text begins anew.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exportPackage } from "../backends/coreml/export.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { MlxEngine } from "../backends/mlx/engine.ts";
import { compileNow } from "../compiler/compile.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { requireDecoder } from "../models/architecture.ts";
import { t5 } from "../models/families/t5.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { decoderExport, weightsOf } from "../testing/decoderExport.ts";
import { optimised } from "../testing/decoderRuns.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { writePlainToy } from "../testing/toyFiles.ts";
import { runBench } from "./bench.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { openDecoder } from "./devices/cpu.ts";
import { openMlxDecoder } from "./devices/mlx.ts";
import { openReference } from "./devices/reference.ts";
import type { GenerateEvent } from "./generate.ts";
import { generate, GREEDY } from "./generate.ts";
import { decoderIn, packageDecoderSession, readerIn } from "./packageSession.ts";
import { prepareSampling } from "./sampling/settings.ts";
import { finish } from "../ir/steps.ts";

const CONTEXT = 64;
const folder = mkdtempSync(join(tmpdir(), "rlx-source-"));
const path = join(folder, "t5.gguf");
let file: GgufFile;
beforeAll(async () => {
  await writePlainToy(path, t5, t5.samples.at(-1)!);
  file = await openGguf(await openFileSource(path));
});
afterAll(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});
const mlx = findMlxEngine();

interface Opened {
  readonly open: () => DecoderSession;
  readonly close: () => void | Promise<void>;
}
type Way = () => Opened | Promise<Opened>;

const onCpu =
  (cacheType: "f32" | "f16"): Way =>
  () => {
    const model = openDecoder(loadAddon(), file, [path], {
      ...{ cacheType, threads: 2, prepare: optimised },
      asGgml: false,
    });
    return { open: () => model.open({ context: CONTEXT }), close: () => model.dispose() };
  };
const onMlx: Way = () => {
  const prepare = (graph: Parameters<typeof optimised>[0]) => compileNow(graph, { backend: "mlx" }).graph;
  const model = openMlxDecoder(mlx as MlxEngine, file, [path], { mode: "compiled", cacheType: "f32", prepare });
  return { open: () => model.open({ context: CONTEXT }), close: () => model.dispose() };
};
const onReference: Way = async () => {
  const model = await openReference(file, { cacheType: "f32" });
  return { open: () => model.open({ context: CONTEXT }), close: () => model.dispose() };
};
const inPackage =
  (profile: "exact" | "gpu"): Way =>
  async () => {
    const directory = `${path}-${profile}.mlpackage`;
    const request = decoderExport(file, { profile, context: CONTEXT, cacheType: "f32", verify: true });
    await exportPackage(request, { directory: await packageWriter(directory), weights: weightsOf(file) });
    const packed = packageReader(directory);
    const opened = await openPackage(packed);
    const runner = new Simulator(opened);
    const reader = readerIn(runner, opened.userDefined, requireDecoder(file).encoder);
    return {
      open: () => packageDecoderSession(decoderIn(runner, opened.userDefined), { reader }),
      close: () => packed.close(),
    };
  };

const WAYS: readonly (readonly [string, Way, number])[] = [
  ["the CPU engine", onCpu("f32"), 1e-4],
  ["the CPU engine with half caches", onCpu("f16"), 0.03],
  ["the reference", onReference, 1e-4],
  ...(reasonNotFound(mlx) === undefined ? [["MLX", onMlx, 1e-4] as const] : []),
  ["an exact package", inPackage("exact"), 1e-4],
  ["a package with Core ML states", inPackage("gpu"), 0.1],
];

const tokensOf = (count: number, step: number): number[] =>
  Array.from({ length: count }, (_, i) => (i * step + 5) % 301);
const TEXT = tokensOf(21, 37);
const OTHER = tokensOf(9, 53);
const gap = (a: Float32Array, b: Float32Array): number => Math.max(...a.map((x, i) => Math.abs(x - (b[i] ?? NaN))));
const last = (session: DecoderSession, token: number): Promise<Float32Array> => session.logits([token], [0]);

let wanted: Float32Array | undefined;

it.each(WAYS)("on %s: what was read goes with the session", async (_way, way, bound) => {
  const { open, close } = await way();
  const fresh = async (text: readonly number[], tokens: readonly number[]): Promise<Float32Array> => {
    const session = open();
    const begun = await session.begin(text);
    await session.feed([...Array.from(begun), ...tokens.slice(0, -1)]);
    const row = await last(session, tokens.at(-1)!);
    session.dispose();
    return row;
  };
  const session = open();
  await expect(session.feed([1])).rejects.toMatchObject({ code: "UNSUPPORTED_MODEL_KIND" });
  await expect(session.begin([])).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  await expect(session.begin(tokensOf(300, 1))).rejects.toMatchObject({ code: "RUN_CONTEXT_FULL" });
  await expect(session.begin([301])).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  expect(Array.from(await session.begin(TEXT))).toEqual([3]);
  await session.feed([3, 40, 41, 42]);
  // The same text is not read again, and nothing is forgotten.
  await session.begin(TEXT);
  expect(session.past).toBe(4);
  expect(session.reuse([3, 40, 50])).toBe(2);
  const row = await last(session, 50);
  expect(gap(row, await fresh(TEXT, [40, 50]))).toBeLessThan(bound);
  // Every device gives what the first does; how far halves are from it, familiesDevices.slow.test.ts says.
  wanted ??= row;
  if (bound < 0.01) expect(gap(row, wanted)).toBeLessThan(bound);
  const fork = await session.fork();
  const saved = await session.save();
  // Another text begins anew, and leaves the others as they are.
  await session.begin(OTHER);
  expect([session.past, session.hasRead(OTHER), fork.hasRead(TEXT)]).toEqual([0, true, true]);
  await session.feed([3]);
  expect(gap(await last(session, 60), await fresh(OTHER, [60]))).toBeLessThan(bound);
  const restored = open();
  await restored.restore(saved);
  expect([restored.past, restored.hasRead(TEXT)]).toEqual([3, true]);
  const next = await fresh(TEXT, [40, 50, 61]);
  for (const each of [fork, restored]) expect(gap(await last(each, 61), next)).toBeLessThan(bound);
  // The test can tell: the other text gives other logits.
  expect(gap(await fresh(OTHER, [40, 50, 61]), next)).toBeGreaterThan(0.3);
  await expect(restored.restore(saved.slice(0, 40))).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  for (const each of [session, fork, restored]) each.dispose();
  await close();
});

const words = { endings: new Set<number>(), detokenizer: () => ({ push: String, open: () => false, flush: () => "" }) };

it("a run reads the prompt once and writes from the decoder's first token", async () => {
  const { open, close } = await onCpu("f32")();
  const session = open();
  const sampling = finish(prepareSampling(GREEDY, words as never));
  const run = async (prompt: readonly number[]): Promise<readonly GenerateEvent[]> => {
    const events: GenerateEvent[] = [];
    for await (const event of generate(session, words, { prompt, sampling, maxTokens: 6 })) events.push(event);
    return events;
  };
  const ids = (events: readonly GenerateEvent[]): number[] => events.flatMap((e) => (e.kind === "token" ? [e.id] : []));
  const first = await run(TEXT);
  expect(first[0]).toEqual({ kind: "prompt", done: 0, total: TEXT.length, reused: 0 });
  expect(session.tokens).toEqual([3, ...ids(first).slice(0, -1)]);
  // Token by token it is the same.
  const other = open();
  const written = Array.from(await other.begin(TEXT));
  for (const id of ids(first)) {
    const row = await last(other, written.at(-1)!);
    expect(row.indexOf(Math.max(...row))).toBe(id);
    written.push(id);
  }
  const again = await run(TEXT);
  expect(again.at(-1)).toMatchObject({ stats: { promptTokens: TEXT.length, reusedTokens: TEXT.length, generated: 6 } });
  expect(ids(again)).toEqual(ids(first));
  expect((await run(OTHER)).at(-1)).toMatchObject({ stats: { promptTokens: OTHER.length, reusedTokens: 0 } });
  await expect(run([])).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  const tests = await runBench(session, { promptTokens: 20, generateTokens: 4, repeats: 1, warmup: 0 });
  expect(tests.map(({ test, tokens }) => [test, tokens])).toEqual([
    ["pp", 20],
    ["tg", 4],
  ]);
  const deep = { promptTokens: 4, generateTokens: 0, depth: 4, repeats: 1, warmup: 0 };
  await expect(runBench(session, deep)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  for (const each of [session, other]) each.dispose();
  await close();
});
