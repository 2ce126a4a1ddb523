// Conversion: parts that llama.cpp loads as one model, the same model merged again byte for byte, types by the gguf package's own
// arithmetic, and nothing left behind by what was stopped.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FAMILIES } from "../../models/families/index.ts";
import { openFileSink, openFileSource, siblingOpener } from "../../node/files/fileByteSource.ts";
import { LENGTH, tokensFor, worstGap } from "../../testing/decoderRuns.ts";
import { llamaForget, llamaLogprobs, llamaMissing } from "../../testing/llama.ts";
import { ggmlQuantize, ggufRead, ggufReadTensor, ask } from "../../testing/oracle.ts";
import { TOY_VOCABULARY, writeToy } from "../../testing/toyFiles.ts";
import type { ConvertChoice } from "./convert.ts";
import { planConvert, writeConverted } from "./convert.ts";
import { openGguf } from "./open.ts";

const missing = llamaMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-convert-"));
afterAll(async () => {
  if (missing === undefined) await llamaForget();
  rmSync(folder, { recursive: true, force: true });
});

const open = async (path: string) => openGguf(await openFileSource(path), { openSibling: siblingOpener(path) });

/** Paths of what was written. */
async function convert(from: string, stem: string, choice: ConvertChoice, signal?: AbortSignal): Promise<string[]> {
  const file = await open(from);
  const plan = planConvert(file, choice);
  const paths = plan.parts.map(({ suffix }) => join(folder, `${stem}${suffix}.gguf`));
  const sinks = await Promise.all(paths.map((path) => openFileSink(path)));
  let done = 0;
  await writeConverted(plan, sinks, {
    ...(signal === undefined ? {} : { signal }),
    onProgress: ({ doneBytes, totalBytes }) => {
      expect(doneBytes).toBeGreaterThan(done);
      expect(totalBytes).toBe(plan.bytes);
      done = doneBytes;
    },
  });
  expect(paths.reduce((sum, path) => sum + readFileSync(path).byteLength, 0)).toBe(plan.bytes);
  await file.close();
  return paths;
}

describe.skipIf(missing !== undefined)(`conversion ${missing ?? ""}`, () => {
  let whole = "";
  beforeAll(async () => {
    const family = FAMILIES.find(({ name }) => name === "llama")!;
    whole = (await writeToy(folder, family, family.samples[1]!, "f32")).path;
  });

  test.each([
    ["of five tensors", { splitTensors: 5 }, 5],
    ["of 60 kB", { splitBytes: 60_000 }, 4],
  ] as const)(
    "parts %s are one model to llama.cpp, and the same file again when they are merged",
    async (_title, choice, least) => {
      const stem = `parts-${least}`;
      const parts = await convert(whole, stem, choice);
      expect(parts.length).toBeGreaterThanOrEqual(least);
      const tokens = [...tokensFor(TOY_VOCABULARY)];
      const [a, b] = [await llamaLogprobs(whole, tokens), await llamaLogprobs(parts[0]!, tokens)];
      const rows = Array.from({ length: LENGTH }, (_, t) => Float64Array.from(a.row(t)));
      expect(worstGap(rows, (t) => b.row(t))).toBe(0);
      // Any part opens all of them.
      const [merged] = await convert(parts[1]!, `merged-${least}`, {});
      expect(readFileSync(merged!).equals(readFileSync(whole))).toBe(true);
    },
  );

  test.each(["f16", "bf16", "q8_0"] as const)("matrices as %s are those of ggml, vectors stay", async (type) => {
    const [path] = await convert(whole, type, { type });
    const [before, after] = [await open(whole), await open(path!)];
    const listed = await ggufRead(path!);
    expect(listed.fields["general.file_type"]).toBe({ f16: 1, bf16: 32, q8_0: 7 }[type]);
    for (const tensor of after.tensors) {
      const source = before.requireTensor(tensor.name);
      const isMatrix = source.dims.length === 2;
      expect([tensor.name, tensor.type.name]).toEqual([tensor.name, isMatrix ? type : "f32"]);
      if (!isMatrix) continue;
      const values = new Float32Array((await before.readTensor(source)).buffer);
      const bytes = await ggmlQuantize(type, values, [source.shape[0]!, source.shape[1]!]);
      expect(Buffer.from(await after.readTensor(tensor)).equals(Buffer.from(bytes)), tensor.name).toBe(true);
    }
    // And from there to f32: exactly what the package reads.
    const [back] = await convert(path!, `${type}-back`, { type: "f32" });
    const name = "blk.0.ffn_up.weight";
    expect((await ggufReadTensor(back!, name)).data).toEqual((await ggufReadTensor(path!, name)).data);
    await Promise.all([before, after].map((file) => file.close()));
  });

  test("a big-endian file becomes the file in the usual order", async () => {
    const [big, little] = [join(folder, "big.gguf"), join(folder, "little.gguf")];
    const tensors = { "a.weight": { dtype: "f32", shape: [2, 3], data: Float64Array.of(1, 2, 3, 4, 5, 6) } };
    const metadata = { x: ["uint32", 7] };
    await ask("ggml.write_file", { path: big, architecture: "toy", metadata, tensors, big: true });
    await ask("ggml.write_file", { path: little, architecture: "toy", metadata, tensors });
    const [path] = await convert(big, "from-big", {});
    expect(readFileSync(path!).equals(readFileSync(little))).toBe(true);
  });

  test("what is stopped leaves nothing, the parts that were complete included", async () => {
    const before = readdirSync(folder).toSorted();
    const stop = new AbortController();
    const file = await open(whole);
    const plan = planConvert(file, { splitTensors: 3 });
    const sinks = await Promise.all(
      plan.parts.map(({ suffix }) => openFileSink(join(folder, `stopped${suffix}.gguf`))),
    );
    const writing = writeConverted(plan, sinks, {
      signal: stop.signal,
      onProgress: ({ part }) => {
        if (part === 3) stop.abort();
      },
    });
    await expect(writing).rejects.toMatchObject({ code: "CANCELLED" });
    expect(readdirSync(folder).toSorted()).toEqual(before);
    await file.close();
  });
});
