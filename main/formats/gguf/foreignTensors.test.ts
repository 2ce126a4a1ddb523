/** Tensors of types that are not known here: they are copied as they are, in every form of a file. */
import { describe, expect, it } from "vitest";
import { rewritten } from "../../testing/hostileFolders.ts";
import { memorySink } from "../byteSink.ts";
import { memorySource } from "../byteSource.ts";
import { planConvert, writeConverted } from "./convert.ts";
import type { GgufFile } from "./file.ts";
import { foreignType } from "./foreignTypes.ts";
import { openGguf } from "./open.ts";
import { ggmlTypeByName } from "./types.ts";
import { contentsOf, encodeHeader, writeGguf } from "./write.ts";

const f32 = ggmlTypeByName("f32")!;
const FORK = 139;
const floats = (count: number, from: number): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: count }, (_, i) => from + i).buffer);
const DATA = {
  "a.weight": floats(8, 1),
  // Three steps of the alignment; 100 values say nothing of them.
  "b.weight": Uint8Array.from({ length: 96 }, (_, i) => i * 7),
  "c.weight": floats(16, 100),
};
const TENSORS = Object.entries(DATA).map(([name, bytes]) => ({
  name,
  ...(name === "b.weight" ? { type: foreignType(FORK), dims: [100] } : { type: f32, dims: [bytes.length / 4] }),
  byteLength: bytes.length,
  data: () => [bytes],
}));
const HEADER = encodeHeader({ entries: [], tensors: TENSORS }).bytes;

async function whole(): Promise<Uint8Array> {
  const sink = memorySink();
  await writeGguf(sink, { entries: [], tensors: TENSORS });
  return sink.bytes();
}
const open = (bytes: Uint8Array): Promise<GgufFile> => openGguf(memorySource("x.gguf", bytes));
const read = async (file: GgufFile, name: string): Promise<readonly number[]> => [
  ...(await file.readTensor(file.requireTensor(name))),
];

/** The same file as version 1, or as version 3 in big-endian order. */
function inOtherForm(bigEndian: boolean): Promise<GgufFile> {
  const header = rewritten(HEADER, bigEndian);
  const start = Math.ceil(header.length / 32) * 32;
  const out = new Uint8Array(start + 32 + 96 + 64);
  out.set(header);
  let at = start;
  for (const [name, bytes] of Object.entries(DATA)) {
    const own = bytes.slice();
    if (bigEndian && name !== "b.weight") for (let i = 0; i < own.length; i += 4) own.subarray(i, i + 4).reverse();
    out.set(own, at);
    at += bytes.length;
  }
  return open(out);
}

describe("a tensor of a type that is not known here", () => {
  it("is copied, and what is behind it keeps its place", async () => {
    const bytes = await whole();
    const file = await open(bytes);
    expect(file.requireTensor("b.weight")).toMatchObject({ type: { name: "iq4_k" }, byteLength: 96 });
    for (const [name, own] of Object.entries(DATA)) expect(await read(file, name), name).toEqual([...own]);
    const again = memorySink();
    await writeGguf(again, contentsOf(file));
    expect(again.bytes()).toEqual(bytes);
    const plan = planConvert(file, { type: "f16" });
    const converted = memorySink();
    await writeConverted(plan, [converted]);
    expect(converted.bytes().length).toBe(plan.bytes);
    expect(await read(await open(converted.bytes()), "b.weight")).toEqual([...DATA["b.weight"]]);
  });

  it("is read from a file of version 1", async () => {
    const file = await inOtherForm(false);
    for (const [name, own] of Object.entries(DATA)) expect(await read(file, name), name).toEqual([...own]);
  });

  it("is refused in big-endian order, and what is behind it is read", async () => {
    const file = await inOtherForm(true);
    await expect(read(file, "b.weight")).rejects.toMatchObject({ code: "UNSUPPORTED_TENSOR_TYPE" });
    expect(await read(file, "c.weight")).toEqual([...DATA["c.weight"]]);
  });
});
