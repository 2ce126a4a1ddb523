/** The errors of the sampled rows against what rounding to f16 costs by its definition, and against the sample's export. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memorySink } from "../../formats/byteSink.ts";
import { stringEntry } from "../../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../../formats/gguf/types.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { headerOnlyModel, LLAMA_1B } from "../../models/headerOnly.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { weightErrors } from "./weightErrors.ts";

const sample = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "errors-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { signal } = new AbortController();
const errorsOf = async (file: GgufFile): Promise<Record<string, number>> =>
  Object.fromEntries((await weightErrors(file, signal)).rows.map(({ profile, error }) => [profile, error.value]));

describe("the error of each weight profile", () => {
  it("of f32 weights is nothing in f32, and a rounding to f16 otherwise", async () => {
    const path = join(folder, "tiny.gguf");
    await writeTinyGguf(path);
    const file = await openGguf(await openFileSource(path));
    const found = await errorsOf(file);
    await file.close();
    expect(found["exact"]).toBe(0);
    // Half a unit of an 11-bit significand, spread evenly: 2^-12 / √3 relative to the number at the worst place of its binade.
    for (const profile of ["ane", "gpu"]) {
      expect(found[profile]).toBeGreaterThan(1e-4);
      expect(found[profile]).toBeLessThan(2 ** -11 / Math.sqrt(3));
    }
  });

  it("of the packed sample says what was converted to what", async () => {
    const file = await openGguf(await openFileSource(sample));
    const { rows } = await weightErrors(file, signal);
    await file.close();
    const ane = rows.find(({ profile }) => profile === "ane");
    expect(ane?.error.value).toBeGreaterThan(1e-4);
    expect(ane?.error.value).toBeLessThan(3e-4);
    expect(ane?.sentence).toMatch(/Q8_0 to fp16: 0\.02\d? %/);
    expect(rows.find(({ profile }) => profile === "exact")?.error.value).toBeLessThan(1e-7);
    expect(rows.find(({ profile }) => profile === "gpu")?.sentence).toMatch(/Q8_0 to int8, fp16 scale per 32/);
  });

  it("of a header without data is not guessed", async () => {
    expect(await weightErrors(await headerOnlyModel(LLAMA_1B), signal)).toEqual({ rows: [] });
  });

  it("of one endless row is measured at its beginning", async () => {
    const f32 = ggmlTypeByName("f32")!;
    const columns = 1 << 20;
    const values = Float32Array.from({ length: columns }, (_, i) => Math.fround(1 + (i % 1000) / 999));
    const sink = memorySink();
    await writeGguf(sink, {
      entries: [stringEntry("general.architecture", "llama")],
      tensors: [{ name: "wide", type: f32, dims: [columns], data: () => [new Uint8Array(values.buffer)] }],
    });
    const path = join(folder, "wide.gguf");
    writeFileSync(path, sink.bytes());
    const source = await openFileSource(path);
    const read = vi.spyOn(source, "read");
    const file = await openGguf(source);
    read.mockClear();
    expect((await errorsOf(file))["exact"]).toBe(0);
    expect(read.mock.calls.map(([, length]) => length)).toEqual([4 * 16_384]);
    await expect(weightErrors(file, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    await file.close();
  });
});
