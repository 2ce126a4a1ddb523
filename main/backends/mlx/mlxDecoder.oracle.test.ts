// Decoders on MLX against the CPU engine and the exact model. f32 files: log-probabilities within
// 1e-4 of the CPU engine's, whole, in pieces and token by token, in all three modes. Packed files:
// mean KL to the exact model (every tensor dequantised to f32, run by the CPU engine in f32) below
// 1e-5 where all types have an affine form, and never above llama.cpp's own elsewhere.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MLX_MODES } from "./engine.ts";
import type { MlxMode, MlxEngine } from "./engine.ts";
import { compileNow } from "../../compiler/compile.ts";
import { memorySink } from "../../formats/byteSink.ts";
import { ggmlTypeByName } from "../../formats/gguf/types.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import type { DecoderModel } from "../../runtime/decoderModel.ts";
import { openDecoder } from "../../runtime/devices/cpu.ts";
import type { PlainSampling } from "../../runtime/sampling/settings.ts";
import { GREEDY, generate } from "../../runtime/generate.ts";
import type { MlxDecoderModel } from "../../runtime/devices/mlx.ts";
import { openMlxDecoder } from "../../runtime/devices/mlx.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../../testing/llama.ts";
import { modelMaker } from "../../testing/decoderRuns.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const mlx = found as MlxEngine;
const cpu = loadAddon();
const folder = mkdtempSync(join(tmpdir(), "rlx-mlx-"));
const sample = join(repositoryRoot, "assets/models/rlx-sample.gguf");
const LENGTH = 48;
const FAMILIES = ["tiny-llama", "tiny-qwen2", "tiny-qwen3"] as const;

afterAll(async () => {
  if (llamaMissing() === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
  if (missing === undefined) expect(mlx.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});

const made = modelMaker(folder);

/** The same model with every tensor as f32. */
async function dequantised(path: string): Promise<string> {
  const file = await openGguf(await openFileSource(path));
  const f32 = ggmlTypeByName("f32")!;
  const sink = memorySink();
  await writeGguf(sink, {
    entries: file.metadata.entries,
    tensors: file.tensors.map((tensor) => ({
      name: tensor.name,
      type: f32,
      dims: tensor.dims,
      data: () => {
        const bytes = readFileSync(path).subarray(tensor.offset, tensor.offset + tensor.byteLength);
        const values = new Float32Array(tensor.dims.reduce((n, dim) => n * dim, 1));
        cpu.dequantize(tensor.type.name as ElementType, bytes, values);
        return [new Uint8Array(values.buffer)];
      },
    })),
  });
  await file.close();
  const exact = join(folder, "sample-exact.gguf");
  writeFileSync(exact, sink.bytes());
  return exact;
}

async function withMlx<T>(
  path: string,
  mode: MlxMode,
  work: (model: MlxDecoderModel) => Promise<T>,
  fastRope = false,
): Promise<T> {
  const file = await openGguf(await openFileSource(path));
  const model = openMlxDecoder(mlx, file, [path], {
    mode,
    fastRope,
    cacheType: "f32",
    chunk: LENGTH,
    prepare: (graph) => compileNow(graph, { backend: "mlx", verify: true }).graph,
  });
  try {
    return await work(model);
  } finally {
    model.dispose();
    await file.close();
  }
}

async function withCpu<T>(path: string, work: (model: DecoderModel) => Promise<T>): Promise<T> {
  const file = await openGguf(await openFileSource(path));
  const prepare = { prepare: (graph: Parameters<typeof compileNow>[0]) => compileNow(graph, { backend: "cpu" }).graph };
  const model = openDecoder(cpu, file, [path], { threads: 2, cacheType: "f32", chunk: LENGTH, ...prepare });
  try {
    return await work(model);
  } finally {
    model.dispose();
    await file.close();
  }
}

const tokensFor = (vocabulary: number, length = LENGTH): Int32Array =>
  Int32Array.from({ length }, (_, i) => (i * 7919 + 13) % vocabulary);

function logSoftmax(row: Float32Array): Float64Array {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = row.reduce((sum, x) => sum + Math.exp(x - largest), 0);
  return Float64Array.from(row, (x) => x - largest - Math.log(total));
}

async function rowsOf(decoder: DecoderModel, chunk: number): Promise<readonly Float64Array[]> {
  const { vocabulary } = decoder.architecture;
  const tokens = tokensFor(vocabulary);
  const session = decoder.open({ context: 2 * LENGTH });
  const rows: Float64Array[] = [];
  for (let at = 0; at < tokens.length; at += chunk) {
    const part = tokens.subarray(at, at + chunk);
    const logits = await session.logits(part, [...part.keys()]);
    for (let r = 0; r < part.length; r++) rows.push(logSoftmax(logits.subarray(r * vocabulary, (r + 1) * vocabulary)));
  }
  session.dispose();
  return rows;
}

const worstGap = (a: readonly Float64Array[], b: readonly Float64Array[]): number =>
  Math.max(...a.map((row, t) => row.reduce((most, x, i) => Math.max(most, Math.abs(x - b[t]![i]!)), 0)));

const meanKl = (exact: readonly Float64Array[], other: (t: number) => Float64Array): number =>
  exact.reduce((sum, row, t) => sum + row.reduce((kl, x, i) => kl + Math.exp(x) * (x - other(t)[i]!), 0), 0) /
  exact.length;

/** llama.cpp's own distance for the same file and tokens. */
async function llamaKl(path: string, truth: readonly Float64Array[]): Promise<number> {
  const peer = await llamaLogprobs(path, [...tokensFor(truth[0]!.length)]);
  return meanKl(truth, (t) => peer.row(t));
}

describe.skipIf(missing !== undefined)(`plain files ${missing ?? ""}`, () => {
  // The sample's own blocks: MLX computes with their exact values, so the CPU engine's run of these
  // as f32 is what to meet.
  test.each([...FAMILIES, "sample"])("%s: the CPU engine's log-probabilities to 1e-4", async (name) => {
    const exact = name === "sample" ? await dequantised(sample) : (await made(name, "f32")).path;
    const path = name === "sample" ? sample : exact;
    const wanted = await withCpu(exact, (model) => rowsOf(model, LENGTH));
    for (const mode of MLX_MODES)
      await withMlx(path, mode, async (model) => {
        for (const chunk of mode === "eager" ? [LENGTH] : [LENGTH, 17, 1])
          expect(worstGap(await rowsOf(model, chunk), wanted), `${mode}, ${chunk} at once`).toBeLessThan(1e-4);
      });
  });
});

describe.skipIf(missing !== undefined)(`MLX's own rotary kernel ${missing ?? ""}`, () => {
  test.each(FAMILIES)("%s: the same log-probabilities to 1e-4", async (family) => {
    const { path } = await made(family, "f32");
    const wanted = await withCpu(path, (model) => rowsOf(model, LENGTH));
    const work = async (model: MlxDecoderModel): Promise<void> => {
      const kernels = model.compiled.steps.map((step) => step.kernel);
      expect(kernels).toContain("rope_fast");
      expect(kernels).not.toContain("rope_tables");
      for (const chunk of [LENGTH, 17, 1]) expect(worstGap(await rowsOf(model, chunk), wanted)).toBeLessThan(1e-4);
    };
    await withMlx(path, "compiled", work, true);
  });
});

describe.skipIf(missing !== undefined)(`packed files ${missing ?? ""}`, () => {
  const affine = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k"];
  const coded = ["iq4_nl", "iq4_xs", "mxfp4", "iq3_s", "iq3_xxs", "tq1_0", "tq2_0", "q1_0"];
  const sixteens = ["q2_k", "q3_k", "iq1_m", "iq2_xs", "iq2_s", "nvfp4"];
  const cases = FAMILIES.flatMap((family) => affine.map((type) => [family, type] as const));
  test.each([...cases, ...coded.map((type, i) => [FAMILIES[i % FAMILIES.length]!, type] as const)])(
    "%s %s: mean KL to the exact model below 1e-5 and not above llama.cpp's, every weight exact",
    async (family, type) => {
      const { path, exact } = await made(family, type);
      const truth = await withCpu(exact, (model) => rowsOf(model, LENGTH));
      await withMlx(path, "compiled", async (model) => {
        const held = await model.compiled.weights();
        const packed = held.filter((weight) => weight.form.startsWith("affine"));
        expect(packed.length).toBeGreaterThan(10);
        for (const weight of packed) expect(weight.largestError, weight.name).toBe(0);
        const whole = await rowsOf(model, LENGTH);
        if (!held.some((weight) => weight.form === "f16" && weight.type !== "f16")) {
          const single = await rowsOf(model, 1);
          for (const rows of [whole, single]) expect(meanKl(truth, (t) => rows[t]!)).toBeLessThan(1e-5);
        }
        if (llamaMissing() === undefined)
          expect(meanKl(truth, (t) => whole[t]!)).toBeLessThanOrEqual(await llamaKl(path, truth));
      });
    },
  );

  test
    .skipIf(llamaMissing() !== undefined)
    .each([
      ...FAMILIES.flatMap((family) => ["q6_k", "q4_k_m", "q5_k_m"].map((type) => [family, type] as const)),
      ...sixteens.map((type, i) => [FAMILIES[i % FAMILIES.length]!, type] as const),
    ])("%s %s: never above llama.cpp's own distance, what is f16 is said", async (family, type) => {
    // ggml takes its time to pack the smallest types.
    const { path, exact } = await made(family, type, /^iq[12]/u.test(type) ? ["--layers=1"] : []);
    const truth = await withCpu(exact, (model) => rowsOf(model, LENGTH));
    await withMlx(path, "lazy", async (model) => {
      const rows = await rowsOf(model, LENGTH);
      expect(meanKl(truth, (t) => rows[t]!)).toBeLessThanOrEqual(await llamaKl(path, truth));
      const held = await model.compiled.weights();
      const halved = held.filter((weight) => weight.type === (sixteens.includes(type) ? type : "q6_k"));
      expect(halved.length).toBeGreaterThan(0);
      for (const weight of halved) {
        expect(weight.form).toBe("f16");
        expect(weight.relativeError).toBeLessThan(2 ** -11);
      }
    });
  });
});

describe.skipIf(missing !== undefined)(`sessions ${missing ?? ""}`, () => {
  async function generated(model: DecoderModel, path: string, sampling: PlainSampling): Promise<readonly number[]> {
    const file = await openGguf(await openFileSource(path));
    const session = model.open({ context: 128 });
    const ids: number[] = [];
    const prompt = [...tokensFor(model.architecture.vocabulary, 20)];
    const options = { prompt, sampling, maxTokens: 24, ignoreEnd: true };
    for await (const event of generate(session, createTokenizer(file), options))
      if (event.kind === "token") ids.push(event.id);
    session.dispose();
    await file.close();
    return ids;
  }

  test.each(MLX_MODES)("%s: greedy and sampled generation give the CPU engine's tokens", async (mode) => {
    const { path } = await made("tiny-llama", "f32");
    const lively: PlainSampling = {
      ...GREEDY,
      temperature: 0.9,
      topK: 20,
      topP: 0.9,
      repeatPenalty: 1.1,
      repeatLast: 16,
      seed: 7,
    };
    for (const sampling of [GREEDY, lively]) {
      const wanted = await withCpu(path, (model) => generated(model, path, sampling));
      expect(wanted).toHaveLength(24);
      expect(await withMlx(path, mode, (model) => generated(model, path, sampling))).toEqual(wanted);
    }
  });

  test("scores are the CPU engine's", async () => {
    const { path } = await made("tiny-qwen2", "f32");
    const score = async (model: DecoderModel): Promise<Float32Array> => {
      const session = model.open({ context: 128 });
      const scores = await session.score(tokensFor(model.architecture.vocabulary, 100));
      session.dispose();
      return scores;
    };
    const wanted = await withCpu(path, score);
    const got = await withMlx(path, "compiled", score);
    wanted.forEach((x, i) => (i === 0 ? expect(got[0]).toBeNaN() : expect(Math.abs(x - got[i]!)).toBeLessThan(1e-4)));
  });

  test("caches grow as they fill; fork, save, restore and truncate keep what they hold", async () => {
    const { path } = await made("tiny-qwen3", "f32");
    await withMlx(path, "compiled", async (model) => {
      const { vocabulary } = model.architecture;
      const tokens = tokensFor(vocabulary, 300);
      const context = Math.min(400, model.architecture.context);
      expect(context).toBeGreaterThan(300);
      const session = model.open({ context });
      await session.feed(tokens.subarray(0, 10));
      const small = session.cacheBytes;
      await session.feed(tokens.subarray(10, 280));
      expect(session.cacheBytes).toBe(28 * small);
      const forked = await session.fork();
      const saved = await session.save();
      const other = model.open({ context });
      await other.restore(saved);
      const rest = tokens.subarray(280);
      const wanted = await session.logits(rest, [rest.length - 1]);
      expect(await forked.logits(rest, [rest.length - 1])).toEqual(wanted);
      expect(await other.logits(rest, [rest.length - 1])).toEqual(wanted);
      session.truncate(280);
      expect(await session.logits(rest, [rest.length - 1])).toEqual(wanted);
      const wholly = await withCpu(path, async (exact) => {
        const one = exact.open({ context });
        await one.feed(tokens.subarray(0, 280));
        const logits = await one.logits(rest, [rest.length - 1]);
        one.dispose();
        return logits;
      });
      wanted.forEach((x, i) => expect(Math.abs(x - wholly[i]!)).toBeLessThan(1e-3));
      for (const used of [session, forked, other]) used.dispose();
    });
  });

  test("a full context, a bad token and a cancelled run are errors with a code, and the session goes on", async () => {
    const { path } = await made("tiny-llama", "f32");
    const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
    await withMlx(path, "compiled", async (model) => {
      const raw = model.compiled.open({ symbols: { capacity: 8 } });
      const run = (tokens: readonly number[], past: number, signal?: AbortSignal): Promise<unknown> =>
        raw
          .run(
            { inputs: { tokens: Int32Array.from(tokens), past: Int32Array.of(past), logit_rows: Int32Array.of(0) } },
            signal,
          )
          .then(() => "ran", codeOf);
      expect(await run([1, 2, 3], 6)).toBe("RUN_CONTEXT_FULL");
      expect(await run([1, 2, 3], -1)).toBe("RUN_CONTEXT_FULL");
      expect(await run([1_000_000], 0)).toBe("RUN_FAILED");
      expect(await run([-1], 0)).toBe("RUN_FAILED");
      expect(await run([1], 0, AbortSignal.abort())).toBe("CANCELLED");
      expect(await run([1, 2, 3], 5)).toBe("ran");
      expect(await raw.run({ inputs: { tokens: Int32Array.of(1) } }).then(() => "ran", codeOf)).toBe("INPUT_ARGUMENT");
      raw.dispose();
    });
  });
});
