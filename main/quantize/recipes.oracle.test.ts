/** Each recipe gives each tensor the type that llama.cpp gives it: grouped and plain heads, tied and not, rows of any length. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { llamaMissing } from "../testing/llama.ts";
import { ask } from "../testing/oracle.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import { planQuantize } from "./plan.ts";
import { fileTypeOf, RECIPE_NAMES } from "./recipes.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-recipes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SHAPES: Readonly<Record<string, readonly string[]>> = {
  "16 blocks, 4 heads to a key head":
    "--layers 16 --width 256 --heads 8 --kv-heads 2 --feed-forward 512 --no-tied".split(" "),
  "9 blocks, tied": "--layers 9 --width 256 --heads 8 --kv-heads 8 --feed-forward 512 --tied".split(" "),
  "rows of 288 and 96": "--layers 3 --width 96 --heads 3 --kv-heads 3 --feed-forward 288 --no-tied".split(" "),
};
/** llama.cpp makes these with an importance matrix only. */
const NEEDS_IMPORTANCE = /^(?:iq1|iq2|iq3_x|q2_k_s)/u;

describe.skipIf(missing !== undefined).each(Object.entries(SHAPES))(`%s ${missing ?? ""}`, (name, options) => {
  const source = join(folder, `${name}.gguf`);
  let file: GgufFile;
  beforeAll(async () => {
    const shape = ["--preset", "tiny-llama", "--family", "llama", "--head-dim", "32", "--vocab", "384", ...options];
    await writeRandomModel(...shape, "--type", "f16", "--out", source);
    file = await openGguf(await openFileSource(source));
  });
  afterAll(() => file.close());

  it.each(RECIPE_NAMES.filter((recipe) => !NEEDS_IMPORTANCE.test(recipe)))("%s", async (recipe) => {
    const target = join(folder, "theirs.gguf");
    const made = await ask("quantize.file", { source, target, file_type: fileTypeOf(recipe) });
    // llama.cpp has nothing that stands in for this one.
    expect(made).toBe(!(name.startsWith("rows") && recipe === "q1_0"));
    if (made !== true) return;
    const theirs = await openGguf(await openFileSource(target));
    const types = Object.fromEntries(theirs.tensors.map((tensor) => [tensor.name, tensor.type.name]));
    await theirs.close();
    const ours = planQuantize(file, { recipe }).tensors;
    expect(Object.fromEntries(ours.map(({ tensor, type }) => [tensor.name, type.name]))).toEqual(types);
  });
});
