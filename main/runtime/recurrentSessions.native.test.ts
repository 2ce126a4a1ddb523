// Sessions of families with recurrent states, or with a cache beside keys and values, on the CPU engine, on MLX and as a package in the simulator: what was reused, forked
// or restored goes on as a run of the same tokens from nothing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportPackage } from "../backends/coreml/export.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { MlxEngine } from "../backends/mlx/engine.ts";
import { compileNow } from "../compiler/compile.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { deepseek32 } from "../models/families/deepseek32.ts";
import { deepseek4 } from "../models/families/deepseek4.ts";
import { falconH1 } from "../models/families/falconH1.ts";
import { kimiLinear } from "../models/families/kimiLinear.ts";
import { lfm2 } from "../models/families/lfm2.ts";
import { mamba } from "../models/families/mamba.ts";
import { qwen35 } from "../models/families/qwen35.ts";
import { qwen4exp } from "../models/families/qwen4exp.ts";
import { rwkv7 } from "../models/families/rwkv7.ts";
import type { Family } from "../models/family.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { decoderExport, weightsOf } from "../testing/decoderExport.ts";
import { optimised } from "../testing/decoderRuns.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { writePlainToy } from "../testing/toyFiles.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { openDecoder } from "./devices/cpu.ts";
import { openMlxDecoder } from "./devices/mlx.ts";
import { decoderIn, packageDecoderSession } from "./packageSession.ts";

const CONTEXT = 64;
/** Longer than a bucket of 16 and no multiple of it. */
const PROMPT = Array.from({ length: 21 }, (_, i) => (i * 37 + 5) % 301);
const CHUNK = 16;

const folder = mkdtempSync(join(tmpdir(), "rlx-recurrent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const mlx = findMlxEngine();
const noMlx = reasonNotFound(mlx);

interface Opened {
  readonly open: () => DecoderSession;
  readonly close: () => void | Promise<void>;
}
type Way = (file: GgufFile, path: string) => Opened | Promise<Opened>;

const onCpu: Way = (file, path) => {
  const options = { cacheType: "f32", chunk: CHUNK, threads: 2, prepare: optimised } as const;
  const model = openDecoder(loadAddon(), file, [path], options);
  return { open: () => model.open({ context: CONTEXT }), close: () => model.dispose() };
};
const onMlx: Way = (file, path) => {
  const model = openMlxDecoder(mlx as MlxEngine, file, [path], {
    mode: "compiled",
    cacheType: "f32",
    chunk: CHUNK,
    prepare: (graph) => compileNow(graph, { backend: "mlx" }).graph,
  });
  return { open: () => model.open({ context: CONTEXT }), close: () => model.dispose() };
};
const inPackage =
  (profile: "exact" | "gpu"): Way =>
  async (file, path) => {
    const directory = `${path}-${profile}.mlpackage`;
    const request = decoderExport(file, { profile, context: CONTEXT, cacheType: "f32", largestStep: CHUNK });
    await exportPackage(request, { directory: await packageWriter(directory), weights: weightsOf(file) });
    const reader = packageReader(directory);
    const opened = await openPackage(reader);
    return {
      open: () => packageDecoderSession(decoderIn(new Simulator(opened), opened.userDefined)),
      close: () => reader.close(),
    };
  };

const WAYS: readonly (readonly [string, Way, number])[] = [
  ["the CPU engine", onCpu, 1e-4],
  ...(noMlx === undefined ? [["MLX", onMlx, 1e-4] as const] : []),
  ["an exact package", inPackage("exact"), 1e-4],
  // States in fp16 round at other places of a prompt.
  ["a package with Core ML states", inPackage("gpu"), 0.03],
];
const FAMILIES: readonly (readonly [string, Family])[] = [
  ["lfm2", lfm2],
  ["qwen35", qwen35],
  ["qwen4exp", qwen4exp],
  ["mamba", mamba],
  ["falcon-h1", falconH1],
  ["rwkv7", rwkv7],
  ["kimi-linear", kimiLinear],
  ["deepseek32", deepseek32],
  ["deepseek4", deepseek4],
];
/** They go back by positions, with rings in our own engines; the others by checkpoints. */
const CACHED = ["deepseek32", "deepseek4"];
const RINGS = ["deepseek4"];

const last = (session: DecoderSession, token: number): Promise<Float32Array> => session.logits([token], [0]);
const gap = (a: Float32Array, b: Float32Array): number => Math.max(...a.map((x, i) => Math.abs(x - (b[i] ?? NaN))));

describe.each(FAMILIES)("%s", (name, family) => {
  let file: GgufFile;
  const path = join(folder, `${name}.gguf`);
  beforeAll(async () => {
    const [sample] = family.samples;
    await writePlainToy(path, family, sample!);
    file = await openGguf(await openFileSource(path));
  });
  afterAll(() => file.close());

  it.each(WAYS)("on %s: reused, forked and restored sessions agree with fresh ones", async (wayName, way, bound) => {
    const { open, close } = await way(file, path);
    const fresh = async (tokens: readonly number[]): Promise<Float32Array> => {
      const session = open();
      await session.feed(tokens.slice(0, -1));
      const row = await last(session, tokens.at(-1)!);
      session.dispose();
      return row;
    };
    const session = open();
    const isRecurrent = !CACHED.includes(name);
    const cached = RINGS.includes(name) && !wayName.includes("package") ? "ring" : "positions";
    expect(session.facts.rewind).toBe(isRecurrent ? "checkpoint" : cached);
    await session.feed(PROMPT);
    await session.feed([7, 8, 9]);
    // Another turn goes on from the checkpoint before the prompt's last token, or behind it.
    const other = [...PROMPT, 50, 51];
    const reused = isRecurrent ? PROMPT.length - 1 : PROMPT.length;
    expect(session.reuse(other)).toBe(reused);
    await session.feed([...PROMPT.slice(reused), 50]);
    expect(gap(await last(session, 51), await fresh(other))).toBeLessThan(bound);
    // A place without a checkpoint: the tokens before it run again.
    session.truncate(5);
    expect(gap(await last(session, 60), await fresh([...PROMPT.slice(0, 5), 60]))).toBeLessThan(bound);
    const fork = await session.fork();
    const restored = open();
    await restored.feed([99, 98, 97]);
    await restored.restore(await session.save());
    const wanted = await fresh([...PROMPT.slice(0, 5), 60, 61]);
    for (const each of [fork, restored, session]) expect(gap(await last(each, 61), wanted)).toBeLessThan(bound);
    // The test can tell: a state that kept a token too many gives other logits.
    expect(gap(await last(fork, 61), wanted)).toBeGreaterThan(0.1);
    for (const each of [session, fork, restored]) each.dispose();
    await close();
  });
});
