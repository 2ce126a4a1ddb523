// A model with a LoRA adapter on the other devices: MLX gives the CPU engine's log-probabilities within 1e-4, a package in the
// simulator its tokens.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { bindingsOf, exportPackage } from "../backends/coreml/export.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { PackageDecoder } from "../backends/coreml/package/packageDecoder.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { MlxEngine } from "../backends/mlx/engine.ts";
import { compileNow } from "../compiler/compile.ts";
import { withAdapters } from "../formats/gguf/adapters.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { openDecoder } from "../runtime/devices/cpu.ts";
import { openMlxDecoder } from "../runtime/devices/mlx.ts";
import { decoderExport, weightsOf } from "../testing/decoderExport.ts";
import { LENGTH, logprobsOf, optimised, tokensFor, worstGap } from "../testing/decoderRuns.ts";
import { oracleMissing } from "../testing/oracle.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { TOY_VOCABULARY, writeToy, writeToyAdapter } from "../testing/toyFiles.ts";
import { INPUTS, LOGITS } from "./blocks.ts";
import { qwen3 } from "./families/qwen3.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-adapter-devices-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const engine = loadAddon();
const found = findMlxEngine();
const noMlx = reasonNotFound(found);
const missing = oracleMissing();
const tokens = tokensFor(TOY_VOCABULARY);

/** A mixture of experts with adapters on attention and experts. */
async function made(): Promise<{ readonly file: GgufFile; readonly paths: readonly string[] }> {
  const [sample] = qwen3.samples;
  const { path } = await writeToy(folder, qwen3, sample!, "f32");
  const paths = [path];
  for (const [name, changes] of [
    ["attention", /attn_[qkv]\.weight/u],
    ["experts", /ffn_.*_exps\.weight/u],
  ] as const)
    paths.push(await writeToyAdapter(folder, qwen3, sample!, { name, rank: 4, alpha: 4, changes }));
  const [model, ...adapters] = await Promise.all(paths.map(async (at) => openGguf(await openFileSource(at))));
  return {
    file: withAdapters(
      model!,
      adapters.map((file) => ({ file, scale: 0.7 })),
    ),
    paths,
  };
}

const onCpu = async (file: GgufFile, paths: readonly string[]): Promise<Float64Array[]> => {
  const decoder = openDecoder(engine, file, paths, {
    threads: 2,
    chunk: LENGTH,
    cacheType: "f32",
    prepare: optimised,
    asGgml: false,
  });
  const rows = await logprobsOf(decoder, tokens, LENGTH);
  decoder.dispose();
  return rows;
};

describe.skipIf(missing !== undefined)(`a model with adapters ${missing ?? ""}`, () => {
  test.skipIf(noMlx !== undefined)(`on MLX ${noMlx ?? ""}`, async () => {
    const { file, paths } = await made();
    const wanted = await onCpu(file, paths);
    const model = openMlxDecoder(found as MlxEngine, file, paths, {
      mode: "compiled",
      cacheType: "f32",
      chunk: LENGTH,
      prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
    });
    for (const chunk of [LENGTH, 1])
      expect(
        worstGap(await logprobsOf(model, tokens, chunk), (t) => wanted[t]!),
        `runs of ${chunk}`,
      ).toBeLessThan(1e-4);
    model.dispose();
    await file.close();
  });

  test("as a package", async () => {
    const { file, paths } = await made();
    const wanted = (await onCpu(file, paths)).slice(23);
    const directory = join(folder, "adapted.mlpackage");
    const request = decoderExport(file, { profile: "exact", context: 64, cacheType: "f32", verify: true });
    await exportPackage(request, { directory: await packageWriter(directory), weights: weightsOf(file) });
    const reader = packageReader(directory);
    const opened = await openPackage(reader);
    const names = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
    const decoder = new PackageDecoder(new Simulator(opened), bindingsOf(opened.userDefined), names);
    const best = (row: Float32Array | Float64Array): number => row.indexOf(Math.max(...row));
    const picked = [best(await decoder.step(tokens.subarray(0, 24), 0, [23]))];
    for (let i = 24; i < 32; i++) picked.push(best(await decoder.step(tokens.subarray(i, i + 1), i, [0])));
    expect(picked).toEqual(wanted.slice(0, picked.length).map(best));
    await reader.close();
    await file.close();
  });
});
