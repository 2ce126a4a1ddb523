// llama.cpp as an oracle, on a file that the gguf package writes: two heads, one layer, byte tokens.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  llamaBench,
  llamaDetokenize,
  llamaFirstToken,
  llamaForget,
  llamaGenerate,
  llamaInfo,
  llamaLogits,
  llamaLogprobs,
  llamaMissing,
  llamaPieces,
  llamaTokenize,
} from "./llama.ts";
import { ask, ggufRead, ggufReadTensor } from "./oracle.ts";

const missing = llamaMissing();
const width = 64;
const vocabulary = 260;

/** Small numbers without a pattern that a mistake in shape could hide behind. */
function weights(seed: number, shape: readonly number[], scale: number): object {
  let state = seed * 2654435761;
  const data = Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32 - 0.5) * scale;
  });
  return { dtype: "f32", shape, data };
}

async function writeTinyLlama(path: string): Promise<void> {
  const ones = { dtype: "f32", shape: [width], data: new Float32Array(width).fill(1) };
  const tokens = ["<unk>", "<s>", "</s>", "\u2581", ...Array.from({ length: 256 }, (_, i) => `<0x${hex(i)}>`)];
  const metadata = {
    "llama.block_count": ["uint32", 1],
    "llama.context_length": ["uint32", 64],
    "llama.embedding_length": ["uint32", width],
    "llama.feed_forward_length": ["uint32", 96],
    "llama.attention.head_count": ["uint32", 2],
    "llama.attention.head_count_kv": ["uint32", 1],
    "llama.rope.dimension_count": ["uint32", width / 2],
    "llama.attention.layer_norm_rms_epsilon": ["float32", 1e-5],
    "tokenizer.ggml.model": ["string", "llama"],
    "tokenizer.ggml.tokens": ["array", tokens],
    "tokenizer.ggml.scores": ["array", tokens.map((_, i) => -i - 0.5)],
    "tokenizer.ggml.token_type": ["array", tokens.map((_, i) => (i < 1 ? 2 : i < 3 ? 3 : i < 4 ? 1 : 6))],
    "tokenizer.ggml.bos_token_id": ["uint32", 1],
    "tokenizer.ggml.eos_token_id": ["uint32", 2],
  };
  const tensors = {
    "token_embd.weight": weights(1, [vocabulary, width], 1),
    "blk.0.attn_norm.weight": ones,
    "blk.0.attn_q.weight": weights(2, [width, width], 0.3),
    "blk.0.attn_k.weight": weights(3, [width / 2, width], 0.3),
    "blk.0.attn_v.weight": weights(4, [width / 2, width], 0.3),
    "blk.0.attn_output.weight": weights(5, [width, width], 0.3),
    "blk.0.ffn_norm.weight": ones,
    "blk.0.ffn_gate.weight": weights(6, [96, width], 0.3),
    "blk.0.ffn_up.weight": weights(7, [96, width], 0.3),
    "blk.0.ffn_down.weight": weights(8, [width, 96], 0.3),
    "output_norm.weight": ones,
    "output.weight": weights(9, [vocabulary, width], 1),
  };
  await ask("ggml.write_file", { path, architecture: "llama", metadata, tensors } as never);
}

const hex = (value: number): string => value.toString(16).toUpperCase().padStart(2, "0");

describe.skipIf(missing)(`llama.cpp oracle ${missing ?? ""}`, () => {
  let folder = "";
  let file = "";
  const prompt = [1, 10, 20, 30, 40];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rlx-llama-"));
    file = join(folder, "tiny.gguf");
    await writeTinyLlama(file);
  });
  afterAll(async () => {
    await llamaForget();
    await rm(folder, { recursive: true, force: true });
  });

  it("reads a file that the gguf package wrote", async () => {
    const info = await llamaInfo(file);
    expect(info).toMatchObject({ vocabSize: vocabulary, contextLength: 64, bos: 1, eos: 2, addBos: true });
    const listing = await ggufRead(file);
    expect(listing.fields["llama.block_count"]).toBe(1);
    const key = listing.tensors.find(({ name }) => name === "blk.0.attn_k.weight");
    expect(key).toMatchObject({ type: "f32", shape: [width / 2, width], bytes: 4 * 32 * 64 });
    expect((await ggufReadTensor(file, "blk.0.attn_k.weight")).shape).toEqual([width / 2, width]);
  });

  it("tokenizes, spells and joins, bytes included", async () => {
    const [plain, special, raw] = await llamaTokenize(file, ["ab", "</s>", Uint8Array.of(0xff)]);
    expect([...(plain ?? [])]).toEqual([1, 3, 4 + 0x61, 4 + 0x62]);
    expect([...(special ?? [])]).toContain(2);
    expect([...(raw ?? [])].at(-1)).toBe(4 + 0xff);
    const pieces = await llamaPieces(file, [4 + 0x61, 4 + 0xff]);
    expect(pieces.map((bytes) => [...bytes])).toEqual([[0x61], [0xff]]);
    expect([...(await llamaDetokenize(file, [4 + 0x61, 4 + 0x62]))]).toEqual([0x61, 0x62]);
  });

  it("gives whole distributions that agree between one batch and token by token", async () => {
    const all = await llamaLogits(file, prompt);
    expect(all.shape).toEqual([5, vocabulary]);
    const logprobs = await llamaLogprobs(file, prompt);
    for (let i = 0; i < prompt.length; i++) {
      const row = logprobs.row(i);
      expect(row.reduce((sum, value) => sum + Math.exp(value), 0)).toBeCloseTo(1, 10);
      const shorter = await llamaLogits(file, prompt.slice(0, i + 1), { batch: 1 });
      const worst = shorter.row(i).reduce((max, v, k) => Math.max(max, Math.abs(v - (all.row(i)[k] ?? NaN))), 0);
      expect(worst).toBeLessThan(1e-4);
    }
  });

  it("continues greedily with the most likely token", async () => {
    const [first] = await llamaGenerate(file, prompt, 3, { stopAtEnd: false });
    const last = (await llamaLogits(file, prompt)).row(prompt.length - 1);
    expect(first).toBe(last.indexOf(Math.max(...last)));
  });

  it("measures", async () => {
    const { promptSeconds, generateSeconds } = await llamaBench(file, { prompt: 16, generate: 4, repeats: 2 });
    expect(promptSeconds).toHaveLength(2);
    expect(generateSeconds.every((seconds) => seconds > 0)).toBe(true);
    const { loadSeconds, token } = await llamaFirstToken(file, prompt);
    expect(loadSeconds).toBeGreaterThan(0);
    expect(token).toBe((await llamaGenerate(file, prompt, 1, { cache: "f16", flash: true }))[0]);
  });

  it("says why a file cannot be loaded and lives on", async () => {
    const bad = join(folder, "bad.gguf");
    await writeFile(bad, "not a model");
    await expect(llamaInfo(bad)).rejects.toThrow(/invalid magic/);
    expect((await llamaInfo(file)).vocabSize).toBe(vocabulary);
  });
});
