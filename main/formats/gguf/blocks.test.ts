/** The picture of files without a family, and of tensors of unknown types. */
import { describe, expect, it } from "vitest";
import { memorySink } from "../byteSink.ts";
import { memorySource } from "../byteSource.ts";
import { blockRuns } from "./blocks.ts";
import { numberEntry, stringEntry } from "./encode.ts";
import { describeFile } from "./describe.ts";
import { openGguf } from "./open.ts";
import type { GgmlType } from "./types.ts";
import { ggmlTypeByName } from "./types.ts";
import { makeHeaderOnly, writeGguf } from "./write.ts";

const type = (name: string): GgmlType => ggmlTypeByName(name)!;
const shaped = (name: string, kind: string, ...dims: number[]) => ({ name, type: type(kind), dims });

describe("blocks of a file", () => {
  it("are grouped by number, fold where they are equal, and keep the order of their roles", async () => {
    const block = (n: number, kind: string) => [
      shaped(`blk.${n}.attn_norm.weight`, "f32", 8),
      shaped(`blk.${n}.ffn_gate_exps.weight`, kind, 32, 8, 4),
      shaped(`blk.${n}.ssm_a`, "f32", 1, 8),
    ];
    const file = await makeHeaderOnly("moe.gguf", {
      entries: [stringEntry("general.architecture", "qwen99moe")],
      tensors: [
        shaped("token_embd.weight", "q8_0", 32, 100),
        ...[2, 0, 1].flatMap((n) => block(n, n === 2 ? "q8_0" : "q4_0")),
        shaped("v.blk.0.attn_q.weight", "f16", 8, 8),
        shaped("output_norm.weight", "f32", 32),
      ],
    });
    expect(blockRuns(file.tensors)).toEqual([
      {
        name: "",
        blocks: 1,
        bytes: 3400 + 128,
        roles: [
          { role: "token_embd.weight", shape: [100, 32], type: "Q8_0", bytes: 3400 },
          { role: "output_norm.weight", shape: [32], type: "F32", bytes: 128 },
        ],
      },
      {
        name: "blk.0 to blk.1",
        blocks: 2,
        bytes: 32 + 32 * 18 + 32,
        roles: [
          { role: "attn_norm.weight", shape: [8], type: "F32", bytes: 32 },
          { role: "ffn_gate_exps.weight", shape: [4, 8, 32], type: "Q4_0", bytes: 576 },
          { role: "ssm_a", shape: [8, 1], type: "F32", bytes: 32 },
        ],
      },
      expect.objectContaining({ name: "blk.2", blocks: 1, bytes: 32 + 32 * 34 + 32 }),
      expect.objectContaining({ name: "v.blk.0", blocks: 1, bytes: 128 }),
    ]);
  });
});

describe("a tensor type that is not known", () => {
  /** Three tensors of 64, 96 and 32 bytes; the types of the second and third are overwritten. */
  async function strange(second: number, third: number): Promise<Uint8Array> {
    const sink = memorySink();
    const tensor = (name: string, count: number) => ({
      ...shaped(name, "f32", count),
      data: () => [new Uint8Array(4 * count).fill(7)],
    });
    const tensors = [tensor("a", 16), tensor("blk.0.b", 24), tensor("blk.0.c", 8)];
    await writeGguf(sink, { entries: [numberEntry("x", "u32", 1)], tensors });
    const bytes = sink.bytes();
    for (const [name, id] of [
      ["blk.0.b", second],
      ["blk.0.c", third],
    ] as const) {
      const at = Buffer.from(bytes).indexOf(name) + name.length + 4 + 8;
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, id, true);
    }
    return bytes;
  }

  it("opens with its number, its bytes from the offsets, and a warning; its bytes can be read", async () => {
    const file = await openGguf(memorySource("new.gguf", await strange(77, 31)));
    expect(file.tensors.map((t) => [t.type.name, t.type.element, t.byteLength])).toEqual([
      ["f32", "f32", 64],
      ["type 77", undefined, 96],
      ["q4_0_4_4", undefined, 32],
    ]);
    expect(await file.readTensor(file.requireTensor("blk.0.b"))).toEqual(new Uint8Array(96).fill(7));
    const { mix, warnings } = describeFile(file);
    expect(mix.map((share) => [share.type, share.bytes, share.bitsPerWeight, share.runs])).toEqual([
      ["type 77", 96, 32, false],
      ["f32", 64, 32, true],
      ["q4_0_4_4", 32, 32, false],
    ]);
    expect(warnings.join()).toMatch(
      /TYPE 77 \(not a type of ggml\), Q4_0_4_4 \(.*taken back.*\) can be inspected but not run/u,
    );
  });

  it("is one row however many tensors have it", async () => {
    const file = await openGguf(memorySource("new.gguf", await strange(77, 77)));
    expect(describeFile(file).mix.map((share) => [share.type, share.tensors, share.bytes])).toEqual([
      ["type 77", 2, 128],
      ["f32", 1, 64],
    ]);
  });

  it("ends where the next tensor begins, wherever the table puts that", async () => {
    const bytes = await strange(77, 0);
    const at = Buffer.from(bytes).indexOf("blk.0.c") + 7 + 4 + 8 + 4;
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, 96, true);
    const file = await openGguf(memorySource("new.gguf", bytes));
    expect(file.tensors.map((t) => t.byteLength)).toEqual([64, 32, 32]);
  });
});
