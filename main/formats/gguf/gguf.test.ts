/**
 * Reading and writing GGUF: what is written is read, what is damaged is named, and nothing more is
 * read than needed.
 */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { sharedFile, sharedFileMissing } from "../../testing/sharedData.ts";
import { memorySink } from "../byteSink.ts";
import { memorySource, meteredSource } from "../byteSource.ts";
import type { ByteSource } from "../byteSource.ts";
import { bigEntry, boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "./encode.ts";
import { alignUp } from "./header.ts";
import { previewValue } from "./metadata.ts";
import { openGguf } from "./open.ts";
import { ggmlTypeByName } from "./types.ts";
import { contentsOf, encodeHeader, makeHeaderOnly, writeGguf } from "./write.ts";
import type { GgufContents, TensorToWrite } from "./write.ts";

const f32 = ggmlTypeByName("f32")!;
const q8 = ggmlTypeByName("q8_0")!;

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value);
const tensor = (name: string, type: typeof f32, dims: number[], fill: number): TensorToWrite => {
  const bytes = (dims.reduce((a, b) => a * b, 1) / type.blockSize) * type.blockBytes;
  return { name, type, dims, data: () => [filled(bytes, fill)] };
};

async function written(contents: GgufContents<TensorToWrite>): Promise<Uint8Array> {
  const sink = memorySink();
  await writeGguf(sink, contents);
  return sink.bytes();
}

const small = (): GgufContents<TensorToWrite> => ({
  entries: [
    stringEntry("general.architecture", "llama"),
    numberEntry("a.u8", "u8", 200),
    numberEntry("a.i16", "i16", -3),
    numberEntry("a.f32", "f32", 1e-6),
    numberEntry("a.f64", "f64", 0.1),
    bigEntry("a.u64", "u64", 2n ** 63n + 1n),
    boolEntry("a.bool", true),
    stringsEntry("a.strings", ["", "é", "日本語", "a".repeat(1000)]),
    numbersEntry("a.i32s", "i32", [-1, 2, 3]),
  ],
  tensors: [tensor("x", f32, [3, 2], 1), tensor("blk.0.w", q8, [64, 5], 2), tensor("y", f32, [1], 3)],
});

async function expectCode(code: ErrorCode, action: Promise<unknown>): Promise<WorkbenchError> {
  const error: unknown = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WorkbenchError);
  expect((error as WorkbenchError).code).toBe(code);
  expect((error as WorkbenchError).hint).toMatch(/^[A-Z`].{10,}\.$/u);
  return error as WorkbenchError;
}

describe("a GGUF that was written", () => {
  it("is read with the same keys and tensors", async () => {
    const bytes = await written(small());
    const file = await openGguf(memorySource("t.gguf", bytes));
    expect(file.metadata.string("general.architecture")).toBe("llama");
    expect(file.metadata.count("a.u8")).toBe(200);
    expect(file.metadata.number("a.i16")).toBe(-3);
    expect(file.metadata.number("a.f32")).toBe(Math.fround(1e-6));
    expect(file.metadata.number("a.f64")).toBe(0.1);
    expect(file.metadata.get("a.u64")).toEqual({ kind: "big", type: "u64", value: 2n ** 63n + 1n });
    expect(file.metadata.optionalBool("a.bool")).toBe(true);
    expect(file.metadata.strings("a.strings").textAt(2)).toBe("日本語");
    expect(file.metadata.strings("a.strings").textAt(0)).toBe("");
    expect(file.metadata.strings("a.strings").textAt(3)).toHaveLength(1000);
    expect([...file.metadata.optionalIntegers("a.i32s")!]).toEqual([-1, 2, 3]);
    expect(file.tensors.map((t) => [t.name, t.type.name, t.shape, t.byteLength, t.offset % 32])).toEqual([
      ["x", "f32", [2, 3], 24, 0],
      ["blk.0.w", "q8_0", [5, 64], 340, 0],
      ["y", "f32", [1], 4, 0],
    ]);
    expect(await file.readTensor(file.requireTensor("blk.0.w"))).toEqual(filled(340, 2));
    expect(await file.readTensor(file.requireTensor("blk.0.w"), { offset: 10, length: 3 })).toEqual(filled(3, 2));
  });

  it("is written again byte for byte", async () => {
    const bytes = await written(small());
    const file = await openGguf(memorySource("t.gguf", bytes));
    expect(Buffer.compare(await written(contentsOf(file)), bytes)).toBe(0);
  });

  it("keeps its alignment", async () => {
    const contents = small();
    const bytes = await written({
      ...contents,
      entries: [...contents.entries, numberEntry("general.alignment", "u32", 4096)],
    });
    const file = await openGguf(memorySource("t.gguf", bytes));
    expect(file.alignment).toBe(4096);
    expect(file.tensors.every((t) => t.offset % 4096 === 0)).toBe(true);
    expect(Buffer.compare(await written(contentsOf(file)), bytes)).toBe(0);
  });

  it("shows short values whole and long ones by their beginning", async () => {
    const file = await openGguf(memorySource("t.gguf", await written(small())));
    const preview = (key: string): string => previewValue(file.metadata.get(key)!, 20);
    expect(preview("a.f32")).toBe("0.000001");
    expect(preview("a.i32s")).toBe("[-1, 2, 3]");
    expect(preview("a.strings").length).toBeLessThan(30);
    expect(preview("general.architecture")).toBe("llama");
  });

  it("has an identity that follows the header and the size, not the data", async () => {
    const contents = small();
    const file = await openGguf(memorySource("a.gguf", await written(contents)));
    const other = await openGguf(
      memorySource(
        "b.gguf",
        await written({ ...contents, tensors: contents.tensors.map((t) => tensor(t.name, t.type, [...t.dims], 9)) }),
      ),
    );
    expect(other.identity).toBe(file.identity);
    const changed = await openGguf(
      memorySource("c.gguf", await written({ ...contents, entries: contents.entries.slice(1) })),
    );
    expect(changed.identity).not.toBe(file.identity);
  });

  it("stops when it is cancelled and abandons what it wrote", async () => {
    const sink = memorySink();
    await expectCodeOnly("CANCELLED", writeGguf(sink, small(), { signal: AbortSignal.abort() }));
    expect(sink.bytes()).toHaveLength(0);
  });
});

async function expectCodeOnly(code: ErrorCode, action: Promise<unknown>): Promise<void> {
  await expect(action).rejects.toMatchObject({ code });
}

describe("a header without data", () => {
  it("has everything but bytes", async () => {
    const file = await makeHeaderOnly("shape.gguf", {
      entries: small().entries,
      tensors: [{ name: "w", type: q8, dims: [4096, 4096] }],
    });
    expect(file.hasData).toBe(false);
    expect(file.tensors[0]?.byteLength).toBe((4096 * 4096 * 34) / 32);
    expect(file.byteLength).toBeGreaterThan((4096 * 4096 * 34) / 32);
    await expectCode("INPUT_ARGUMENT", file.readTensor(file.tensors[0]!));
  });
});

describe("what is read", () => {
  it("is the header, a window more, and never the data", async () => {
    const vocabulary = Array.from({ length: 50_000 }, (_, i) => `token number ${i}`);
    const contents: GgufContents<TensorToWrite> = {
      entries: [stringsEntry("tokenizer.ggml.tokens", vocabulary), stringEntry("z", "end")],
      tensors: [{ name: "w", type: f32, dims: [1 << 28], data: () => [] }],
    };
    const { bytes, total } = encodeHeader(contents);
    // The data is not there at all: a source that invents zeros would be noticed by the meter.
    const sparse: ByteSource = {
      name: "sparse.gguf",
      byteLength: total,
      async read(offset, length) {
        const out = new Uint8Array(length);
        if (offset < bytes.length) out.set(bytes.subarray(offset, Math.min(bytes.length, offset + length)));
        return out;
      },
      close: async () => undefined,
    };
    const meter = meteredSource(sparse);
    const file = await openGguf(meter);
    expect(file.metadata.strings("tokenizer.ggml.tokens").textAt(49_999)).toBe("token number 49999");
    expect(file.metadata.string("z")).toBe("end");
    expect(meter.bytesRead()).toBeLessThan(bytes.length + (5 << 20));
    expect(meter.reads()).toBeLessThan(5);
  });

  it("stops when it is cancelled", async () => {
    await expectCodeOnly(
      "CANCELLED",
      openGguf(memorySource("t.gguf", await written(small())), { signal: AbortSignal.abort() }),
    );
  });
});

describe("split files", () => {
  const part = (no: number, count: number, tensors: TensorToWrite[], total = 2): Promise<Uint8Array> =>
    written({
      entries: [
        ...(no === 0 ? [stringEntry("general.architecture", "llama")] : []),
        numberEntry("split.no", "u16", no),
        numberEntry("split.count", "u16", count),
        numberEntry("split.tensors.count", "i32", total),
      ],
      tensors,
    });
  const name = (no: number, count = 2): string => `m-0000${no}-of-0000${count}.gguf`;
  const shelf = async (files: Readonly<Record<string, Promise<Uint8Array>>>, given: string) => {
    const bytes = new Map<string, Uint8Array>();
    for (const [key, value] of Object.entries(files)) bytes.set(key, await value);
    const source = (key: string): ByteSource | undefined => {
      const found = bytes.get(key);
      return found === undefined ? undefined : memorySource(key, found);
    };
    return openGguf(source(given)!, { openSibling: async (key) => source(key) });
  };
  const both = { [name(1)]: part(0, 2, [tensor("a", f32, [8], 1)]), [name(2)]: part(1, 2, [tensor("b", f32, [8], 2)]) };

  it("are one model whichever part is given", async () => {
    for (const given of [name(1), name(2)]) {
      const file = await shelf(both, given);
      expect(file.parts.map((p) => p.name)).toEqual([name(1), name(2)]);
      expect(file.metadata.string("general.architecture")).toBe("llama");
      expect(await file.readTensor(file.requireTensor("b"))).toEqual(filled(32, 2));
    }
  });

  it("name the part that is missing", async () => {
    const error = await expectCode("INPUT_SPLIT", shelf({ [name(2)]: both[name(2)]! }, name(2)));
    expect(error.message).toContain(name(1));
    expect(error.details).toEqual({ missing: [name(1)] });
  });

  it("must belong together", async () => {
    await expectCode("INPUT_SPLIT", shelf({ ...both, [name(2)]: part(0, 2, [tensor("b", f32, [8], 2)]) }, name(1)));
    await expectCode("INPUT_SPLIT", shelf({ ...both, [name(2)]: part(1, 2, [tensor("a", f32, [8], 2)]) }, name(1)));
    await expectCode("INPUT_SPLIT", shelf({ ...both, [name(2)]: part(1, 2, []) }, name(1)));
    await expectCode("INPUT_SPLIT", shelf({ "renamed.gguf": both[name(1)]! }, "renamed.gguf"));
  });

  it("are a thousand at most, whatever a file says: no more are looked for", async () => {
    const looked: string[] = [];
    const opened = async (count: number): Promise<WorkbenchError> => {
      const given = `m-00001-of-${String(count).padStart(5, "0")}.gguf`;
      const source = memorySource(given, await part(0, count, []));
      const openSibling = async (key: string): Promise<undefined> => void looked.push(key);
      return expectCode("INPUT_SPLIT", openGguf(source, { openSibling }));
    };
    expect((await opened(1001)).message).toContain("split.count: got 1001, expected at most 1000");
    expect(looked).toEqual([]);
    expect((await opened(1000)).message).toContain("this is part 1 of 1000; missing:");
    expect(looked).toHaveLength(999);
    const late = memorySource(name(1), await part(2, 2, []));
    expect((await expectCode("INPUT_SPLIT", openGguf(late))).message).toContain("split.no: got 2");
  });
});

describe("what a file can get wrong", () => {
  /** The header of `small()` with some bytes replaced. */
  const patched = async (at: number, value: readonly number[]): Promise<Uint8Array> => {
    const bytes = await written(small());
    bytes.set(value, at);
    return bytes;
  };
  const open = (bytes: Uint8Array): Promise<unknown> => openGguf(memorySource("bad.gguf", bytes));

  it("is not being a GGUF", async () => {
    await expectCode("INPUT_NOT_GGUF", open(new Uint8Array(0)));
    await expectCode("INPUT_NOT_GGUF", open(filled(5, 65)));
    await expectCode("INPUT_NOT_GGUF", open(new TextEncoder().encode("<!DOCTYPE html><title>404 not found</title>")));
    await expectCode("INPUT_NOT_GGUF", open(await patched(4, [9, 0, 0, 0])));
    await expectCode("INPUT_NOT_GGUF", open(await patched(4, [0, 0, 0, 9])));
  });

  it("is naming another form than its own", async () => {
    await expectCode("INPUT_LIMIT", open(await patched(4, [0, 0, 0, 3])));
    await expectCode("INPUT_MALFORMED", open(await patched(4, [1, 0, 0, 0])));
  });

  it("is lying about counts", async () => {
    await expectCode("INPUT_TRUNCATED", open(await patched(8, [255, 255, 255, 255, 1])));
    await expectCode("INPUT_MALFORMED", open(await patched(8, [255, 255, 255, 255, 255, 255, 255, 255])));
    await expectCode("INPUT_TRUNCATED", open(await patched(16, [255, 255, 255, 0])));
  });

  it("is being cut off anywhere", async () => {
    const bytes = await written(small());
    const { bytes: header } = encodeHeader(small());
    for (let end = 24; end < header.length; end += 7) await expectCode("INPUT_TRUNCATED", open(bytes.slice(0, end)));
    await expectCode("INPUT_TRUNCATED", open(bytes.slice(0, alignUp(header.length, 32) + 100)));
  });

  it("is repeating a key or a tensor", async () => {
    const contents = small();
    const twice = await written({ ...contents, entries: [...contents.entries, boolEntry("a.bool", false)] });
    expect((await expectCode("INPUT_MALFORMED", open(twice))).message).toContain("a.bool");
    const tensors = await written({ ...contents, tensors: [...contents.tensors, tensor("x", f32, [1], 0)] });
    expect((await expectCode("INPUT_MALFORMED", open(tensors))).message).toContain('"x"');
  });

  it("is a tensor table that cannot be", async () => {
    const contents = small();
    const { bytes: header } = encodeHeader(contents);
    const bytes = await written(contents);
    // The last tensor of the header: ... type u32, offset u64. Its offset moved onto the tensor before it.
    const overlapping = bytes.slice();
    new DataView(overlapping.buffer).setUint32(header.length - 8, 32, true);
    expect((await expectCode("INPUT_MALFORMED", open(overlapping))).message).toContain("overlap");
    const unaligned = bytes.slice();
    new DataView(unaligned.buffer).setUint32(header.length - 8, 33, true);
    await expectCode("INPUT_MALFORMED", open(unaligned));
    const huge = bytes.slice();
    new DataView(huge.buffer).setBigUint64(header.length - 20, 2n ** 52n, true);
    await expectCode("INPUT_MALFORMED", open(huge));
    const zero = bytes.slice();
    new DataView(zero.buffer).setBigUint64(header.length - 20, 0n, true);
    await expectCode("INPUT_MALFORMED", open(zero));
  });

  it("is an alignment that is no power of two", async () => {
    for (const value of [0, 7, 48, 2 ** 31]) {
      const { bytes } = encodeHeader({ entries: [numberEntry("general.alignment", "u32", 32)], tensors: [] });
      new DataView(bytes.buffer).setUint32(bytes.length - 4, value, true);
      await expectCode("INPUT_MALFORMED", open(bytes));
    }
  });

  it("is a row that is no whole number of blocks", async () => {
    const { bytes } = encodeHeader({ entries: [], tensors: [{ name: "w", type: q8, dims: [64] }] });
    new DataView(bytes.buffer).setUint32(bytes.length - 20, 65, true);
    await expectCode("INPUT_MALFORMED", open(bytes));
  });

  it("is a missing key, which is named", async () => {
    const file = await openGguf(memorySource("t.gguf", await written(small())));
    expect(() => file.metadata.count("llama.block_count")).toThrow(/llama\.block_count/u);
    expect(() => file.metadata.string("a.u8")).toThrow(/a\.u8.*got u8, expected a string/u);
    expect(() => file.requireTensor("output.weight")).toThrow(/output\.weight/u);
  });

  it("is a name full of control characters, which are not passed on", async () => {
    const bad = "x\u001b[2Jy\u202e";
    const { bytes } = encodeHeader({
      entries: [],
      tensors: [
        { name: bad, type: f32, dims: [1] },
        { name: bad, type: f32, dims: [1] },
      ],
    });
    const error = await expectCode("INPUT_MALFORMED", open(bytes));
    expect(error.message).not.toMatch(/[\u001b\u202e]/u);
  });

  it("is arrays nested without end", async () => {
    const inner = [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    const raw = Uint8Array.from(Array.from({ length: 50 }, () => inner).flat());
    const value = { key: "a", type: "array" as const, raw, value: { kind: "bool" as const, value: true } };
    await expectCode("INPUT_MALFORMED", open(encodeHeader({ entries: [value], tensors: [] }).bytes));
  });
});

const vocab = "vocab/gpt-2.gguf";
const missing = sharedFileMissing(vocab);
describe.skipIf(missing)(`a file by another writer ${missing ?? ""}`, () => {
  it("is written again byte for byte", async () => {
    const bytes = new Uint8Array(await readFile(sharedFile(vocab)));
    const file = await openGguf(memorySource("gpt-2.gguf", bytes));
    expect(file.metadata.strings("tokenizer.ggml.tokens").length).toBe(50_257);
    expect(Buffer.compare(await written(contentsOf(file)), bytes)).toBe(0);
  });
});
