// Toy folders of every family: what they compute by the formulas of Hugging Face, in NumPy; what our engine makes of the folder;
// what llama.cpp makes of the GGUF that is written from it. All three agree at every position.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openModel } from "../../node/library/index.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { openFileSink } from "../../node/files/fileByteSource.ts";
import { modelFiles } from "../../node/files/modelFiles.ts";
import {
  LENGTH,
  logprobsIn,
  logprobsOf,
  optimised,
  tokensFor,
  withDecoder,
  worstGap,
} from "../../testing/decoderRuns.ts";
import { embedderOn, worstShare } from "../../testing/embedderRuns.ts";
import { llamaEmbeddings, llamaForget, llamaLogprobs, llamaMissing } from "../../testing/llama.ts";
import { ask, numeric } from "../../testing/oracle.ts";
import { TOY_ENCODERS, TOY_RERANKERS } from "../../testing/toyEncoders.ts";
import { TOY_FOLDERS, TOY_ROWS, writeFolder } from "../../testing/toyFolders.ts";
import type { ToyFolder } from "../../testing/toyFolders.ts";
import { contentsOf, writeGguf } from "../gguf/write.ts";
import { Json } from "../json.ts";
import { openModelFile } from "../openModel.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { F32, converted } from "../tensorBytes.ts";
import { HF_FAMILIES } from "./families.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-hf-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});
const ALL = [...TOY_FOLDERS, ...TOY_ENCODERS, ...TOY_RERANKERS];
const tokens = tokensFor(TOY_ROWS);

async function openFolder(path: string) {
  const { source, openSibling } = await modelFiles.open(path);
  return openModelFile(source, { openSibling });
}

async function convert(toy: ToyFolder): Promise<{ readonly model: string; readonly gguf: string }> {
  const model = join(folder, `toy-${ALL.indexOf(toy)}`);
  await writeFolder(model, toy);
  const file = await openFolder(model);
  const gguf = `${model}.gguf`;
  const { entries, tensors } = contentsOf(file);
  // As f32: llama.cpp rounds what it multiplies with half floats.
  const exact = tensors.map((tensor, i) => {
    const { type, dims, byteLength } = file.tensors[i]!;
    const read: TensorBytes["read"] = (offset, length) => file.readTensor(file.tensors[i]!, { offset, length });
    const bytes = converted({ type, dims, byteLength, read }, F32);
    return {
      ...tensor,
      type: F32,
      data: async function* () {
        yield await bytes.read(0, bytes.byteLength);
      },
    };
  });
  await writeGguf(await openFileSink(gguf), { entries, tensors: exact });
  await file.close();
  return { model, gguf };
}

describe.skipIf(missing !== undefined)(`folders of Hugging Face ${missing ?? ""}`, () => {
  test.each(TOY_FOLDERS.map((toy) => [toy.title, toy] as const))("%s", async (_title, toy) => {
    const { model, gguf } = await convert(toy);
    const { source = [] } = toy;
    const { data, shape } = numeric(await ask("hf.logprobs", { folder: model, tokens: [...tokens], source }));
    const truth = (t: number): Float64Array => data.subarray(t * TOY_ROWS, (t + 1) * TOY_ROWS);
    expect(shape).toEqual([LENGTH, TOY_ROWS]);
    const theirs = await llamaLogprobs(gguf, [...tokens], { source });
    const rows = Array.from({ length: LENGTH }, (_, t) => Float64Array.from(theirs.row(t)));
    expect(worstGap(rows, truth), "llama.cpp").toBeLessThan(1e-3);
    await withDecoder(engine, gguf, { cacheType: "f32", prepare: optimised, asGgml: true }, async (decoder) => {
      const mine = await logprobsOf(decoder, tokens, LENGTH, source);
      expect(worstGap(mine, truth), "NumPy").toBeLessThan(1e-3);
      expect(
        worstGap(mine, (t) => theirs.row(t)),
        "llama.cpp's own",
      ).toBeLessThan(1e-3);
    });
  });

  test.each(TOY_ENCODERS.map((toy) => [toy.title, toy] as const))("%s", async (_title, toy) => {
    const { model, gguf } = await convert(toy);
    const truth = numeric(await ask("hf.rows", { folder: model, tokens: [...tokens] }));
    const theirs = await llamaEmbeddings(gguf, [...tokens], "none");
    const mine = await embedderOn(engine, gguf, { pooling: "none", prepare: optimised }, (embedder) =>
      embedder.embed(tokens),
    );
    expect([mine.rows, mine.width]).toEqual(truth.shape);
    const exact = Float32Array.from(truth.data);
    expect(worstShare(mine.data, exact), "NumPy").toBeLessThan(1e-3);
    expect(worstShare(theirs.data, exact), "llama.cpp").toBeLessThan(1e-3);
    if (toy.modules === undefined) return;
    // What the folder says of one vector for the text.
    const vector = await embedderOn(engine, gguf, { prepare: optimised }, (embedder) => embedder.embed(tokens));
    const last = exact.subarray((mine.rows - 1) * mine.width);
    const mean = last.map((_, column) => {
      let sum = 0;
      for (let row = 0; row < mine.rows; row++) sum += exact[row * mine.width + column] ?? 0;
      return sum / mine.rows;
    });
    const isLast = toy.modules.some(({ config }) => config["pooling_mode_lasttoken"] === true);
    expect(worstShare(vector.data, isLast ? last : mean), "pooled").toBeLessThan(1e-3);
  });

  test.each(TOY_RERANKERS.map((toy) => [toy.title, toy] as const))("%s", async (_title, toy) => {
    const { model, gguf } = await convert(toy);
    const truth = Float32Array.from(numeric(await ask("hf.scores", { folder: model, tokens: [...tokens] })).data);
    const theirs = await llamaEmbeddings(gguf, [...tokens], "rank");
    const mine = await embedderOn(engine, gguf, { prepare: optimised }, (embedder) => embedder.embed(tokens));
    expect(mine.data.length).toBe(truth.length);
    expect(worstShare(mine.data, truth), "NumPy").toBeLessThan(1e-3);
    expect(worstShare(theirs.data, truth), "llama.cpp").toBeLessThan(1e-3);
  });

  test("a folder runs as it is", async () => {
    const toy = TOY_FOLDERS.find(({ title }) => title.startsWith("mixtral"))!;
    const { model: path, gguf } = await convert(toy);
    const theirs = await llamaLogprobs(gguf, [...tokens]);
    const model = await openModel(path);
    const session = await model.openSession({ context: LENGTH, cacheType: "f32", device: "cpu" });
    const mine = await logprobsIn(session.decoder, tokens, LENGTH);
    expect(worstGap(mine, (t) => theirs.row(t))).toBeLessThan(1e-3);
    expect(() => model.weights).toThrow(/rlx convert|expected a GGUF/u);
    session.dispose();
    await model.close();
  });

  test("every family of the table has a folder", () => {
    const configs = ALL.map(({ config }) => ({ name: "toy", json: new Json(config) }));
    const without = HF_FAMILIES.filter(
      ({ names, isOf }) =>
        !configs.some(
          (config) => names.includes(String(config.json.list("architectures")[0])) && isOf?.(config) !== false,
        ),
    );
    expect(without.map(({ architecture }) => architecture)).toEqual([]);
  });
});
