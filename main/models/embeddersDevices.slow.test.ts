// One toy embedder of each architecture on the other devices: MLX gives the CPU engine's vectors within 1e-4 of the largest number,
// a package in the simulator those of the CPU for texts that fill it and for shorter ones, whose rest is padding.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { bindingsOf, exportPackage } from "../backends/coreml/export.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { PackageEmbedder } from "../backends/coreml/package/packageEmbedder.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { MlxEngine } from "../backends/mlx/engine.ts";
import { compileNow } from "../compiler/compile.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { locateIn, mappedFiles } from "../runtime/decoderModel.ts";
import { mlxDevice } from "../runtime/devices/mlx.ts";
import { embedderGraph, openEmbedder } from "../runtime/embedderModel.ts";
import { textExport, weightsOf } from "../testing/decoderExport.ts";
import { optimised, tokensFor } from "../testing/decoderRuns.ts";
import { EMBEDDER_CASES, embedderOn, worstShare } from "../testing/embedderRuns.ts";
import { oracleMissing, validatePackage } from "../testing/oracle.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import { INPUTS } from "./blocks.ts";
import { POOLINGS } from "./family.ts";
import { EMBEDDING } from "./textGraph.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-embedders-devices-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const engine = loadAddon();
const found = findMlxEngine();
const noMlx = reasonNotFound(found);
const missing = oracleMissing();

/** The last small sample of an architecture has the most in it. */
const cases = [
  ...new Map(
    EMBEDDER_CASES.filter(([, , { keys }]) => Number(keys["block_count"]) < 7).map(
      ([, family, sample]) => [sample.architecture, { family, sample }] as const,
    ),
  ),
];
const tokens = tokensFor(TOY_VOCABULARY, 32);
const LENGTHS = [32, 19, 1] as const;

describe.skipIf(missing !== undefined || noMlx !== undefined)(`on MLX ${missing ?? noMlx ?? ""}`, () => {
  test.each(cases)("%s", async (_name, { family, sample }) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const file = await openGguf(await openFileSource(path));
    const weights = { ...mappedFiles(file, [path]), locate: locateIn(file) };
    for (const pooling of ["none", POOLINGS[Number(sample.keys["pooling_type"])]!] as const) {
      const model = openEmbedder(file, mlxDevice(found as MlxEngine, { mode: "compiled", weights }), {
        pooling,
        prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
      });
      for (const length of LENGTHS) {
        const text = tokens.subarray(0, length);
        const wanted = await embedderOn(engine, path, { pooling, prepare: optimised }, (cpu) => cpu.embed(text));
        const mine = await model.embed(text);
        expect([mine.rows, mine.width]).toEqual([wanted.rows, wanted.width]);
        expect(worstShare(mine.data, wanted.data), `${pooling} of ${length}`).toBeLessThan(1e-4);
      }
      model.dispose();
    }
    await file.close();
  });
});

const cosine = (a: Float32Array, b: Float32Array): number => {
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, v, i) => sum + v * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

describe.skipIf(missing !== undefined)(`as a package ${missing ?? ""}`, () => {
  test.each(cases)("%s", async (name, { family, sample }) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const file = await openGguf(await openFileSource(path));
    for (const profile of ["exact", "gpu"] as const) {
      const directory = join(folder, `${name}-${profile}.mlpackage`);
      const request = textExport(embedderGraph(file, {}), file, { profile, context: 32 });
      await exportPackage(request, { directory: await packageWriter(directory), weights: weightsOf(file) });
      const reader = packageReader(directory);
      const opened = await openPackage(reader);
      const names = { tokens: INPUTS.tokens, length: INPUTS.length, embedding: EMBEDDING };
      const model = new PackageEmbedder(new Simulator(opened), bindingsOf(opened.userDefined), names);
      for (const length of LENGTHS) {
        const text = tokens.subarray(0, length);
        const wanted = await embedderOn(engine, path, { prepare: optimised }, (cpu) => cpu.embed(text));
        const { data } = await model.embed(text);
        if (profile === "exact") expect(worstShare(data, wanted.data), `exact, ${length}`).toBeLessThan(1e-4);
        else expect(1 - cosine(data, wanted.data), `fp16, ${length}`).toBeLessThan(1e-3);
      }
      await reader.close();
      if (profile === "gpu") expect(await validatePackage(directory)).toMatchObject({ errors: 0, warnings: 0 });
    }
    await file.close();
  });
});
