/** Importance matrices in both forms of llama.cpp, and files that are neither. */
import { describe, expect, it } from "vitest";
import { memorySink } from "../formats/byteSink.ts";
import { memorySource } from "../formats/byteSource.ts";
import { readImportance, writeImportance } from "./importance.ts";

/** The older form: its numbers by hand. */
function oldForm(entries: readonly (readonly [string, number, readonly number[]])[]): Uint8Array {
  const parts = [int(entries.length)];
  for (const [name, runs, values] of entries)
    parts.push(int(name.length), Buffer.from(name), int(runs), int(values.length), floats(values));
  return Buffer.concat([...parts, int(7), int(4), Buffer.from("text")]);
}
const int = (value: number): Buffer => Buffer.from(Int32Array.of(value).buffer);
const floats = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const read = (bytes: Uint8Array): ReturnType<typeof readImportance> => readImportance(memorySource("m", bytes));

describe("importance matrices", () => {
  it("come back as means, and an expert without a token counts its columns alike", async () => {
    const sink = memorySink();
    const squares = { columns: 2, sums: Float64Array.of(6, 9, 0, 0), counts: Float64Array.of(3, 0) };
    await writeImportance(sink, new Map([["blk.0.w", squares]]), { text: "t", chunks: 1, chunk: 3 });
    const importance = await read(sink.bytes());
    expect(importance.of("blk.0.w", 2, 2)?.map((row) => [...row])).toEqual([
      [2, 3],
      [1, 1],
    ]);
    expect(importance.of("blk.1.w", 2, 2)).toBeUndefined();
    expect(() => importance.of("blk.0.w", 4, 2)).toThrow(/got 4 numbers, expected 2 × 4/);
  });

  it("are read in the older form", async () => {
    const importance = await read(
      oldForm([
        ["a", 2, [4, 8]],
        ["b", 0, [5]],
      ]),
    );
    expect([...importance.of("a", 2, 1)![0]!]).toEqual([2, 4]);
    expect([...importance.of("b", 1, 1)![0]!]).toEqual([1]);
  });

  it.each<readonly [string, Float64Array, Float64Array]>([
    ["sums that are no numbers", Float64Array.of(1, Infinity, 1, 1), Float64Array.of(3, 3)],
    ["a count for some experts only", Float64Array.of(1, 1, 1, 1), Float64Array.of(3)],
  ])("refuse %s", async (_, sums, counts) => {
    const sink = memorySink();
    await writeImportance(sink, new Map([["w", { columns: 2, sums, counts }]]), { text: "t", chunks: 1, chunk: 3 });
    await expect(read(sink.bytes())).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("this is no matrix at all")],
    ["no weights", oldForm([])],
    ["less than it says", oldForm([["a", 2, [4, 8]]]).subarray(0, 20)],
    ["a name of negative length", Buffer.concat([int(1), int(-5)])],
    ["a mean that is no number", oldForm([["a", 2, [4, NaN]]])],
    ["a negative mean", oldForm([["a", 2, [-4, 8]]])],
  ])("refuse %s", async (_, bytes) => {
    await expect(read(bytes)).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });
});
