// One toy file of each architecture on the other devices: MLX gives the CPU engine's log-probabilities within 1e-4, a package in
// the simulator the CPU engine's tokens with exact weights, and its distribution with fp16. Then what only a long prompt shows.
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
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { openMlxDecoder } from "../runtime/devices/mlx.ts";
import { readerIn } from "../runtime/packageSession.ts";
import { decoderExport, weightsOf } from "../testing/decoderExport.ts";
import { LENGTH, logprobsOf, optimised, sourceOf, tokensFor, withDecoder, worstGap } from "../testing/decoderRuns.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { oracleMissing, validatePackage } from "../testing/oracle.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import { requireDecoder } from "./architecture.ts";
import { INPUTS, LOGITS } from "./blocks.ts";
import { FAMILIES } from "./families/index.ts";
import type { FamilySample } from "./family.ts";
import { gptOss } from "./families/gptOss.ts";
import { llama4 } from "./families/llama4.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-devices-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const engine = loadAddon();
const found = findMlxEngine();
const noMlx = reasonNotFound(found);
const missing = oracleMissing();

function last<T>(list: readonly T[]): T {
  return list.at(-1)!;
}

/** The last small sample of an architecture has the most in it. */
const cases = [
  ...new Map(
    FAMILIES.filter(({ kind }) => kind === "decoder").flatMap((family) =>
      family.samples
        .filter(({ keys }) => Number(keys["block_count"]) < 10)
        .map((sample) => [sample.architecture, { family, sample, type: "f32" }] as const),
    ),
  ),
  ["gpt-oss, experts in mxfp4", { family: gptOss, sample: last(gptOss.samples), type: "mxfp4" }] as const,
];
const tokens = tokensFor(TOY_VOCABULARY);
const onCpu = (path: string, sample: FamilySample): Promise<Float64Array[]> =>
  withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: false }, (decoder) =>
    logprobsOf(decoder, tokens, LENGTH, sourceOf(sample)),
  );

describe.skipIf(missing !== undefined || noMlx !== undefined)(`on MLX ${missing ?? noMlx ?? ""}`, () => {
  test.each(cases)("%s", async (_name, { family, sample, type }) => {
    const { path, exact } = await writeToy(folder, family, sample, type);
    const wanted = await onCpu(exact, sample);
    const file = await openGguf(await openFileSource(path));
    const model = openMlxDecoder(found as MlxEngine, file, [path], {
      mode: "compiled",
      cacheType: "f32",
      chunk: LENGTH,
      prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
    });
    for (const chunk of [LENGTH, 1])
      expect(
        worstGap(await logprobsOf(model, tokens, chunk, sourceOf(sample)), (t) => wanted[t]!),
        `runs of ${chunk}`,
      ).toBeLessThan(1e-4);
    model.dispose();
    await file.close();
  });
});

const PROMPT = 24;
const CONTEXT = 64;
const best = (row: Float64Array): number => row.indexOf(Math.max(...row));

function logSoftmax(row: Float32Array): Float64Array {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = largest + Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return Float64Array.from(row, (x) => x - total);
}

describe.skipIf(missing !== undefined)(`as a package ${missing ?? ""}`, () => {
  test.each(cases)("%s", async (name, { family, sample, type }) => {
    const { path, exact } = await writeToy(folder, family, sample, type);
    const short = { ...sample, ...(sample.source !== undefined && { source: Math.min(sample.source, CONTEXT) }) };
    const wanted = (await onCpu(exact, short)).slice(PROMPT - 1);
    const file = await openGguf(await openFileSource(path));
    for (const profile of ["exact", "gpu"] as const) {
      const directory = join(folder, `${name}-${profile}.mlpackage`);
      const request = decoderExport(file, { profile, context: CONTEXT, cacheType: "f32", verify: true });
      await exportPackage(request, { directory: await packageWriter(directory), weights: weightsOf(file) });
      // Packages of one graph at two sizes: models.oracle.test.ts.
      if (profile === "gpu" && sample.source !== undefined)
        expect(await validatePackage(directory)).toMatchObject({ errors: 0, warnings: 0 });
      const reader = packageReader(directory);
      const opened = await openPackage(reader);
      const names = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
      const simulator = new Simulator(opened);
      const decoder = new PackageDecoder(simulator, bindingsOf(opened.userDefined), names);
      const encoder = readerIn(simulator, opened.userDefined, requireDecoder(file).encoder);
      const inputs = (await encoder?.read(Int32Array.from(sourceOf(short)))) ?? {};
      const rows = [logSoftmax(await decoder.step(tokens.subarray(0, PROMPT), 0, [PROMPT - 1], { inputs }))];
      for (let i = 0; i < 8; i++) {
        const next = tokens.subarray(PROMPT + i, PROMPT + i + 1);
        rows.push(logSoftmax(await decoder.step(next, PROMPT + i, [0], { inputs })));
      }
      await reader.close();
      if (profile === "exact") expect(rows.map(best)).toEqual(wanted.slice(0, rows.length).map(best));
      const kl = rows.map((row, i) =>
        row.reduce((sum, x, j) => sum + Math.exp(wanted[i]![j]!) * (wanted[i]![j]! - x), 0),
      );
      expect(kl.reduce((a, b) => a + b, 0) / kl.length, profile).toBeLessThan(1e-3);
    }
    await file.close();
  });
});

test.skipIf(llamaMissing() !== undefined)("Llama 4 sees its chunk of 8192 positions, as llama.cpp does", async () => {
  const small = llama4.samples.find(({ title }) => title === "small")!;
  const sample = { ...small, title: "long", keys: { ...small.keys, context_length: 16_384 } };
  const { path } = await writeToy(folder, llama4, sample, "f32");
  const long = tokensFor(TOY_VOCABULARY, 8192 + 48);
  const theirs = await llamaLogprobs(path, [...long]);
  await withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: true }, async (decoder) => {
    const mine = await logprobsOf(decoder, long, LENGTH);
    expect(worstGap(mine.slice(8000), (t) => theirs.row(8000 + t))).toBeLessThan(1e-3);
  });
  await llamaForget();
});
