// LoRA adapters against llama.cpp's: log-probabilities of f32 files within 1e-3 at each of 64 positions, whole, in pieces and
// token by token. Over packed weights they come no further from the exact model than llama.cpp. Adapters of several kinds and scales at once, over
// dense layers, experts, embedding and output.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { withAdapters } from "../formats/gguf/adapters.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { openModel } from "../node/library/index.ts";
import { loadAddon } from "../node/native/addon.ts";
import type { DecoderModel } from "../runtime/decoderModel.ts";
import { openDecoder } from "../runtime/devices/cpu.ts";
import { LENGTH, logprobsIn, logprobsOf, optimised, tokensFor, worstGap } from "../testing/decoderRuns.ts";
import { engineHarness } from "../testing/engineHarness.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import type { Rows } from "../testing/llama.ts";
import type { ToyAdapter } from "../testing/toyFiles.ts";
import { TOY_VOCABULARY, writeToy, writeToyAdapter } from "../testing/toyFiles.ts";
import type { Family, FamilySample } from "./family.ts";
import { FAMILIES } from "./families/index.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-adapters-"));
const engine = loadAddon();
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});
const tokens = tokensFor(TOY_VOCABULARY);
const open = async (path: string): Promise<GgufFile> => openGguf(await openFileSource(path));

type Used = readonly [adapter: ToyAdapter, scale: number];
const ATTENTION: ToyAdapter = { name: "attention", rank: 4, alpha: 8, changes: /attn_(q|k|v|output)\.weight/u };
const EVERY: ToyAdapter = { name: "every", rank: 3, alpha: 2, changes: /blk.*(attn|ffn).*(?<!norm)\.weight/u, seed: 2 };
const TABLES: ToyAdapter = { name: "tables", rank: 5, alpha: 0, changes: /^(token_embd|output)\.weight/u, seed: 3 };

async function written(
  title: string,
  family: Family,
  sample: FamilySample,
  used: readonly Used[],
): Promise<readonly (readonly [path: string, scale: number])[]> {
  const adapters: (readonly [string, number])[] = [];
  for (const [adapter, scale] of used) {
    const name = `${title}-${adapter.name}`.replaceAll(/\W+/gu, "-");
    adapters.push([await writeToyAdapter(folder, family, sample, { ...adapter, name }), scale]);
  }
  return adapters;
}

async function opened(
  path: string,
  adapters: readonly (readonly [path: string, scale: number])[],
  asGgml: boolean,
): Promise<{ readonly decoder: DecoderModel; readonly close: () => Promise<void> }> {
  const model = await open(path);
  const choices = await Promise.all(adapters.map(async ([at, scale]) => ({ file: await open(at), scale })));
  const file = withAdapters(model, choices);
  const options = { threads: 2, chunk: LENGTH, cacheType: "f32", prepare: optimised, asGgml } as const;
  const decoder = openDecoder(engine, file, [path, ...adapters.map(([at]) => at)], options);
  return {
    decoder,
    close: () => {
      decoder.dispose();
      return file.close();
    },
  };
}

const meanKl = (exact: Rows<Float64Array>, other: (t: number) => Float64Array): number =>
  Array.from({ length: LENGTH }, (_, t) =>
    exact.row(t).reduce((sum, x, i) => sum + Math.exp(x) * (x - other(t)[i]!), 0),
  ).reduce((a, b) => a + b) / LENGTH;

const cases: readonly (readonly [title: string, architecture: string, sample: RegExp, used: readonly Used[]])[] = [
  ["attention of a dense decoder", "llama", /.*/u, [[ATTENTION, 1]]],
  [
    "two adapters with scales of their own",
    "starcoder2",
    /own output/u,
    [
      [ATTENTION, 0.5],
      [EVERY, -0.75],
    ],
  ],
  ["embedding and output, without alpha", "smollm3", /own output/u, [[TABLES, 0.3]]],
  ["experts", "qwen3moe", /eight experts/u, [[EVERY, 0.8]]],
  [
    "three adapters, one of them not applied",
    "minicpm",
    /own output/u,
    [
      [ATTENTION, 0.4],
      [EVERY, 0],
      [TABLES, 0.2],
    ],
  ],
];

describe.skipIf(missing !== undefined)(`adapters ${missing ?? ""}`, () => {
  test.each(cases)("%s", async (title, architecture, wanted, used) => {
    const family = FAMILIES.find(({ architectures }) => architectures.includes(architecture))!;
    const sample = family.samples.find((one) => one.architecture === architecture && wanted.test(one.title))!;
    const { path } = await writeToy(folder, family, sample, "f32");
    const adapters = await written(title, family, sample, used);
    const [plain, theirs] = [
      await llamaLogprobs(path, [...tokens]),
      await llamaLogprobs(path, [...tokens], { adapters }),
    ];
    const { decoder, close } = await opened(path, adapters, true);
    const whole = await logprobsOf(decoder, tokens, LENGTH);
    expect(worstGap(whole, (t) => theirs.row(t))).toBeLessThan(1e-3);
    // The adapters do change the answer.
    expect(worstGap(whole, (t) => plain.row(t))).toBeGreaterThan(0.1);
    for (const chunk of [17, 1])
      expect(
        worstGap(await logprobsOf(decoder, tokens, chunk), (t) => whole[t]!),
        `runs of ${chunk}`,
      ).toBeLessThan(1e-3);
    await close();
  });

  test("beside packed weights", async () => {
    const family = FAMILIES.find(({ name }) => name === "hunyuan")!;
    const sample = family.samples[1]!;
    const { path, exact } = await writeToy(folder, family, sample, "q8_0");
    const adapters = await written("packed", family, sample, [[EVERY, 0.7]]);
    const truth = await llamaLogprobs(exact, [...tokens], { adapters });
    const peer = await llamaLogprobs(path, [...tokens], { adapters });
    const { decoder, close } = await opened(path, adapters, false);
    const mine = await logprobsOf(decoder, tokens, LENGTH);
    expect(meanKl(truth, (t) => mine[t]!)).toBeLessThanOrEqual(meanKl(truth, (t) => peer.row(t)));
    await close();
  });

  test("through the engine and the library, as llama.cpp scores them", async () => {
    const family = FAMILIES.find(({ name }) => name === "starcoder2")!;
    const sample = family.samples[0]!;
    const { path } = await writeToy(folder, family, sample, "f32");
    const used = await written("engine", family, sample, [
      [ATTENTION, 0.9],
      [EVERY, 0.5],
    ]);
    const theirs = await llamaLogprobs(path, [...tokens], { adapters: used });
    const wanted = [...tokens.subarray(1)].map((token, t) => theirs.row(t)[token]!);
    const adapters = used.map(([at, scale]) => ({ path: at, scale }));
    const far = (mine: ArrayLike<number>): number => Math.max(...wanted.map((x, i) => Math.abs(x - mine[i + 1]!)));

    const harness = await engineHarness();
    const { model, facts, file } = await harness.client.call("model.open", {
      source: { kind: "path", path },
      adapters,
    });
    expect(facts.filter(({ label }) => label === "adapter").map(({ value }) => value)).toEqual([
      "engine-attention.gguf × 0.9",
      "engine-every.gguf × 0.5",
    ]);
    expect(file?.parts).toBe(1);
    const scored = async (id: string): Promise<ArrayLike<number>> => {
      const items = await harness.all("score.run", { model: id, source: { kind: "tokens", tokens }, cache: "f32" });
      const done = items.find((item) => item.kind === "done");
      return done!.logprobs;
    };
    expect(far(await scored(model))).toBeLessThan(1e-3);
    // Another scale is another plan, though all files are the same.
    const other = await harness.client.call("model.open", {
      source: { kind: "path", path },
      adapters: adapters.map((adapter) => ({ ...adapter, scale: 0 })),
    });
    expect(far(await scored(other.model))).toBeGreaterThan(0.1);
    const wrong = harness.client.call("model.open", { source: { kind: "path", path }, adapters: [{ path }] });
    await expect(wrong).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    await harness.done();

    const library = await openModel(path, { adapters });
    const session = await library.openSession({ cacheType: "f32", context: 128 });
    const mine = await logprobsIn(session.decoder, tokens, LENGTH);
    expect(worstGap(mine, (t) => theirs.row(t))).toBeLessThan(1e-3);
    await library.close();
  });
});
