/** Files by the gguf package read here, files written here read by the gguf package, and rewriting byte for byte. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFileSink, openFileSource } from "../../node/files/fileByteSource.ts";
import { ask, ggufRead, ggufReadTensor, numbersOf, oracleMissing } from "../../testing/oracle.ts";
import type { OracleValue } from "../../testing/oracle.ts";
import { randomFloats, seededRandom } from "../../testing/random.ts";
import { dequantize } from "../quant/dequantize.ts";
import { bigEntry, boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "./encode.ts";
import type { GgufFile } from "./file.ts";
import { openGguf } from "./open.ts";
import { ggmlTypeByName } from "./types.ts";
import type { MetadataValue } from "./values.ts";
import { contentsOf, writeGguf } from "./write.ts";

const missing = oracleMissing();
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-gguf-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const opened = async (path: string): Promise<GgufFile> => openGguf(await openFileSource(path));

/** A value as the package would print it. */
function plain(value: MetadataValue): OracleValue {
  switch (value.kind) {
    case "number":
    case "bool":
      return value.value;
    case "big":
      return Number(value.value);
    case "string":
      return new TextDecoder().decode(value.bytes);
    case "strings":
      return Array.from({ length: value.strings.length }, (_, i) => value.strings.textAt(i));
    case "fixedArray":
      return Array.from({ length: value.array.length }, (_, i) => {
        const element = value.array.valueAt(i);
        return typeof element === "bigint" ? Number(element) : element;
      });
    case "arrays":
      return value.items.map(plain);
  }
}

async function expectSameListing(path: string, file: GgufFile): Promise<void> {
  const listing = await ggufRead(path);
  expect(
    file.tensors.map((t) => ({
      name: t.name,
      type: t.type.name,
      shape: [...t.shape],
      offset: t.offset,
      bytes: t.byteLength,
    })),
  ).toEqual(listing.tensors);
  expect(Object.fromEntries(file.metadata.entries.map((entry) => [entry.key, plain(entry.value)]))).toEqual(
    listing.fields,
  );
}

const values = randomFloats(seededRandom(4), 64 * 256);

describe.skipIf(missing)(`files of the gguf package ${missing ?? ""}`, () => {
  it("are read as it reads them, and written again byte for byte", async () => {
    const path = join(folder, "theirs.gguf");
    const packed = (await ask("ggml.quantize", {
      type: "q4_k",
      values: { dtype: "f32", shape: [64, 256], data: values },
    })) as Uint8Array;
    await ask("ggml.write_file", {
      path,
      architecture: "llama",
      metadata: {
        "general.name": ["string", "naïve 模型"],
        "a.uint8": ["uint8", 7],
        "a.int16": ["int16", -7],
        "a.uint64": ["uint64", 2 ** 40],
        "a.float32": ["float32", 0.1],
        "a.float64": ["float64", 0.1],
        "a.bool": ["bool", true],
        "a.texts": ["array", ["", "x", "é"]],
        "a.numbers": ["array", [1, 2, 3]],
        "a.floats": ["array", [1.5, -2.25]],
      },
      tensors: {
        "plain.weight": { dtype: "f32", shape: [3, 5], data: values.slice(0, 15) },
        "half.weight": { dtype: "f16", shape: [2, 3, 4], data: new Uint16Array(24).fill(0x3c00) },
        "packed.weight": { type: "q4_k", data: packed, shape: [64, 256] },
      },
    });
    const file = await opened(path);
    await expectSameListing(path, file);
    const tensor = file.requireTensor("packed.weight");
    const theirs = await ggufReadTensor(path, "packed.weight");
    expect(dequantize("q4_k", await file.readTensor(tensor), tensor.elements)).toEqual(Float32Array.from(theirs.data));
    const copy = join(folder, "copy.gguf");
    await writeGguf(await openFileSink(copy), contentsOf(file));
    expect(Buffer.compare(await readFile(copy), await readFile(path))).toBe(0);
    await file.close();
  });
});

describe.skipIf(missing)(`files written here ${missing ?? ""}`, () => {
  it("are read by the gguf package", async () => {
    const path = join(folder, "ours.gguf");
    const half = new Uint8Array(Uint16Array.from({ length: 12 }, (_, i) => 0x3c00 + i).buffer);
    await writeGguf(await openFileSink(path), {
      entries: [
        stringEntry("general.architecture", "qwen3"),
        numberEntry("general.alignment", "u32", 64),
        numberEntry("a.i8", "i8", -1),
        numberEntry("a.u16", "u16", 65_535),
        numberEntry("a.f32", "f32", 1e-5),
        bigEntry("a.i64", "i64", -(2n ** 40n)),
        boolEntry("a.no", false),
        stringsEntry("a.texts", ["tokens", "", "日本"]),
        numbersEntry("a.f32s", "f32", [0.5, 1e10]),
        numbersEntry("a.bools", "bool", [1, 0, 1]),
      ],
      tensors: [
        {
          name: "f",
          type: ggmlTypeByName("f32")!,
          dims: [256],
          data: () => [new Uint8Array(values.slice(0, 256).buffer)],
        },
        { name: "h", type: ggmlTypeByName("f16")!, dims: [4, 3], data: () => [half.subarray(0, 5), half.subarray(5)] },
      ],
    });
    const file = await opened(path);
    await expectSameListing(path, file);
    expect(file.tensors.every((t) => t.offset % 64 === 0)).toBe(true);
    expect([...numbersOf((await ggufReadTensor(path, "f")).data)]).toEqual([...values.slice(0, 256)]);
    await file.close();
  });
});
