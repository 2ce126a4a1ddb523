/** A matrix's second scale has two names in files: both give the same model. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadAddon } from "../node/native/addon.ts";
import { logprobsOf, optimised, tokensFor, withDecoder } from "../testing/decoderRuns.ts";
import { TOY_VOCABULARY, writePlainToy } from "../testing/toyFiles.ts";
import { llama } from "./families/llama.ts";
import { qwen3 } from "./families/qwen3.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-scales-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const engine = loadAddon();
const tokens = tokensFor(TOY_VOCABULARY, 8);

const rowsOf = (path: string): Promise<Float64Array[]> =>
  withDecoder(engine, path, { cacheType: "f32", prepare: optimised, asGgml: false }, (decoder) =>
    logprobsOf(decoder, tokens, tokens.length),
  );

test.each([
  ["matrices", llama],
  ["experts", qwen3],
] as const)("scales of %s", async (name, family) => {
  const sample = family.samples.find(({ has }) => has?.test("blk.0.attn_q.scale") === true);
  const [plain, other, none] = ["plain", "other", "none"].map((each) => join(folder, `${name}-${each}.gguf`)) as [
    string,
    string,
    string,
  ];
  await writePlainToy(plain, family, sample!);
  await writePlainToy(other, family, sample!, { named: (each) => each.replace(/\.scale$/u, ".weight.scale") });
  await writePlainToy(none, family, sample!, { named: (each) => each.replace(/\.scale$/u, ".unknown") });
  const wanted = await rowsOf(plain);
  expect(await rowsOf(other)).toEqual(wanted);
  // A tensor that is not read is a refusal, so both names are.
  await expect(rowsOf(none)).rejects.toMatchObject({ code: "UNSUPPORTED_ARCHITECTURE" });
});
