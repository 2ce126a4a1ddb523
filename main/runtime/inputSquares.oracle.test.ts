/** What each weight of a block is multiplied by, against llama.cpp's own graph: the same weights, counts and sums. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openGguf } from "../formats/gguf/open.ts";
import type { GatheredInputs } from "../ir/inputSquares.ts";
import { FAMILIES } from "../models/families/index.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { loadAddon } from "../node/native/addon.ts";
import { LENGTH, tokensFor } from "../testing/decoderRuns.ts";
import { llamaMissing } from "../testing/llama.ts";
import type { OracleValue } from "../testing/oracle.ts";
import { ask, numeric } from "../testing/oracle.ts";
import { TOY_VOCABULARY, writeToy } from "../testing/toyFiles.ts";
import { locateIn, mappedFiles } from "./decoderModel.ts";
import { compileGraph } from "./devices/cpu.ts";
import { gatherInputs } from "./inputSquares.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-squares-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tokens = Int32Array.from(tokensFor(TOY_VOCABULARY));
/** Plain and fused products, experts with one row for all and with a row each, a shared expert, GELU in halves. */
const ARCHITECTURES = /^(?:llama|phi3|qwen2moe|qwen3moe|gpt-oss|deepseek2|gemma2)$/u;
const cases = FAMILIES.flatMap((family) =>
  family.samples
    .filter(({ architecture }) => ARCHITECTURES.test(architecture))
    .filter(({ title }, at) => at === 0 || title.includes("experts"))
    .map((sample) => [`${sample.architecture}, ${sample.title}`, family, sample] as const),
);

async function gather(path: string, chunk: number): Promise<GatheredInputs> {
  const file = await openGguf(await openFileSource(path));
  try {
    const weights = { ...mappedFiles(file, [path]), locate: locateIn(file) };
    const compile = (graph: Parameters<typeof compileGraph>[1]): ReturnType<typeof compileGraph> =>
      compileGraph(loadAddon(), graph, { threads: 2, weights, asGgml: true });
    return (await gatherInputs(file, tokens, { compile, chunk })).inputs;
  } finally {
    await file.close();
  }
}

async function theirs(path: string): Promise<ReadonlyMap<string, { sums: Float64Array; counts: Float64Array }>> {
  type Row = readonly [string, OracleValue, OracleValue];
  const rows = (await ask("quantize.input_squares", { path, tokens: [...tokens] })) as unknown as readonly Row[];
  return new Map(
    rows.map(([name, sums, counts]) => [name, { sums: numeric(sums).data, counts: numeric(counts).data }]),
  );
}

describe.skipIf(missing !== undefined)(`input squares ${missing ?? ""}`, () => {
  it.each(cases)("%s", async (_, family, sample) => {
    const { path } = await writeToy(folder, family, sample, "f32");
    const ours = await gather(path, LENGTH);
    const reference = await theirs(path);
    expect([...ours.keys()].toSorted()).toEqual([...reference.keys()].toSorted());
    for (const [name, { sums, counts }] of reference) {
      const own = ours.get(name)!;
      expect([...own.counts], name).toEqual([...counts]);
      const most = sums.reduce((a, b) => Math.max(a, b));
      const gap = sums.reduce((worst, sum, i) => Math.max(worst, Math.abs(sum - own.sums[i]!)), 0);
      expect(gap, name).toBeLessThan(1e-4 * most);
    }
  });
});
