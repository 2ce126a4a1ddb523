/** The writer is a stream: it holds one piece, and what was stopped midway is nowhere taken for whole. */
import { describe, expect, it } from "vitest";
import { memorySink } from "../byteSink.ts";
import type { ByteSink } from "../byteSink.ts";
import { memorySource } from "../byteSource.ts";
import { alignUp } from "./header.ts";
import { openGguf } from "./open.ts";
import { ggmlTypeByName } from "./types.ts";
import { contentsOf, encodeHeader, writeGguf } from "./write.ts";
import type { GgufContents, TensorToWrite } from "./write.ts";

const f32 = ggmlTypeByName("f32")!;

/** A tensor of many pieces, a sink that says what it holds, and what has been asked of it. */
function longWrite(pieces: number, size: number) {
  const sink = memorySink();
  const seen = { largest: 0, chunks: 0, ahead: 0, finished: 0, abandoned: 0 };
  let made = 0;
  const contents: GgufContents<TensorToWrite> = {
    entries: [],
    tensors: [
      {
        name: "long",
        type: f32,
        dims: [(pieces * size) / 4],
        async *data() {
          for (; made < pieces; made++) yield new Uint8Array(size).fill(made);
        },
      },
    ],
  };
  const { bytes: header } = encodeHeader(contents);
  let inHeader = alignUp(header.length, 32);
  const counting: ByteSink = {
    async write(bytes) {
      inHeader -= bytes.length;
      if (inHeader < 0) {
        seen.largest = Math.max(seen.largest, bytes.length);
        seen.ahead = Math.max(seen.ahead, made - seen.chunks);
        seen.chunks++;
      }
      await sink.write(bytes);
    },
    finish: () => (seen.finished++, sink.finish()),
    abandon: () => (seen.abandoned++, sink.abandon()),
  };
  return { contents, counting, seen, sink };
}

describe("a tensor that is written", () => {
  it("holds a piece of a tensor at a time, each written before the next is made", async () => {
    const { contents, counting, seen, sink } = longWrite(100, 4096);
    await writeGguf(counting, contents);
    expect(seen).toEqual({ largest: 4096, chunks: 100, ahead: 0, finished: 1, abandoned: 0 });
    const file = await openGguf(memorySource("long.gguf", sink.bytes()));
    expect((await file.readTensor(file.tensors[0]!)).at(-1)).toBe(99);
  });

  it("is copied from another file in pieces, too", async () => {
    const size = 9 << 20;
    const sink = memorySink();
    const w = { name: "w", type: f32, dims: [size / 4], data: () => [new Uint8Array(size)] };
    await writeGguf(sink, { entries: [], tensors: [w] });
    const [first] = contentsOf(await openGguf(memorySource("w.gguf", sink.bytes()))).tensors;
    const pieces: number[] = [];
    for await (const piece of first!.data()) pieces.push(piece.length);
    expect(pieces).toEqual([4 << 20, 4 << 20, 1 << 20]);
  });

  it("stops in the middle of a tensor when it is cancelled there, and nothing of it counts as whole", async () => {
    const { contents, counting, seen, sink } = longWrite(100, 4096);
    const stop = new AbortController();
    const onProgress = (done: number): void => {
      if (done > 50 * 4096) stop.abort();
    };
    const writing = writeGguf(counting, contents, { signal: stop.signal, onProgress });
    await expect(writing).rejects.toMatchObject({ code: "CANCELLED" });
    expect(seen).toMatchObject({ chunks: 50, finished: 0, abandoned: 1 });
    expect(sink.bytes()).toHaveLength(0);
  });
});
