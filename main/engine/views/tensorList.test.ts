// What the table of tensors finds: each word in some column.
import { describe, expect, it } from "vitest";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { tensorPage } from "./inspectView.ts";

const tensor = (name: string, type: string, shape: readonly number[]) => ({
  ...{ name, shape, part: 0, offset: 0, byteLength: 1, elementCount: 1 },
  type: { name: type, id: 0, blockBytes: 1, blockElements: 1 },
});
const file = {
  tensors: [
    tensor("token_embd.weight", "q6_k", [1024, 4096]),
    tensor("blk.3.ffn_down.weight", "q6_k", [4096, 1024]),
    tensor("blk.13.ffn_down.weight", "q4_k", [4096, 1024]),
  ],
} as unknown as GgufFile;

const find = (query: string): string[] =>
  tensorPage(file, { query, sort: "file", descending: false, offset: 0, limit: 10 }).rows.map(({ name }) => name);

describe("a search in the tensors", () => {
  it.each([
    ["ffn_down q6", ["blk.3.ffn_down.weight"]],
    ["Q6 FFN", ["blk.3.ffn_down.weight"]],
    ["layer 3", ["blk.3.ffn_down.weight"]],
    ["block 13 down", ["blk.13.ffn_down.weight"]],
    ["1024×4096", ["token_embd.weight"]],
    ["down q8", []],
  ])("%s", (query, names) => {
    expect(find(query)).toEqual(names);
  });

  it("of nothing is everything", () => {
    expect(find("  ")).toHaveLength(3);
  });
});
