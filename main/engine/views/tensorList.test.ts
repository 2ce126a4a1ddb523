// What the table of tensors finds, its groups and their sums, and what it is sorted by.
import { describe, expect, it } from "vitest";
import type { TensorGrouping, TensorSort } from "../../contract/views/tensors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { ComparedTensor } from "../../statistics/compare.ts";
import type { ListContext } from "./tensorList.ts";
import { tensorGroups, tensorPage } from "./tensorList.ts";

const tensor = (name: string, type: string, shape: readonly number[], byteLength = 1) => ({
  ...{ name, shape, part: 0, offset: 0, byteLength, elements: shape.reduce((a, b) => a * b) },
  type: { name: type, id: 0, blockBytes: 1, blockElements: 1 },
});
const fileOf = (tensors: readonly object[]): GgufFile => ({ tensors }) as unknown as GgufFile;
const file = fileOf([
  tensor("token_embd.weight", "q6_k", [1024, 4096], 100),
  tensor("blk.3.ffn_down.weight", "q6_k", [4096, 1024], 40),
  tensor("blk.3.attn_q.weight", "q4_k", [1024, 1024], 20),
  tensor("blk.13.ffn_down.weight", "q4_k", [4096, 1024], 30),
]);
const [EMBEDDING, DOWN3, QUERY3, DOWN13] = file.tensors.map(({ name }) => name);

interface Asked extends ListContext {
  readonly query?: string;
  readonly group?: TensorGrouping;
  readonly sort?: TensorSort;
  readonly descending?: boolean;
}
const list = ({ query = "", group = "none", sort = "file", descending = false, ...context }: Asked) =>
  tensorPage(file, { query, group, sort, descending, offset: 0, limit: 10, ...context }).rows.map(({ name }) => name);
const groups = ({ query = "", group = "none", ...context }: Asked) => tensorGroups(file, { query, group, ...context });

describe("a search in the tensors", () => {
  it.each([
    ["ffn_down q6", [DOWN3]],
    ["Q6 FFN", [DOWN3]],
    ["layer 3 down", [DOWN3]],
    ["block 13 down", [DOWN13]],
    ["1024×4096", [EMBEDDING]],
    ["down q8", []],
  ])("%s", (query, names) => {
    expect(list({ query })).toEqual(names);
  });

  it("of nothing is everything", () => {
    expect(list({ query: "  " })).toHaveLength(4);
  });
});

describe("groups", () => {
  it("of layers stand in their order, with sums, and the list has them one after the other", () => {
    const made = groups({ group: "layer" });
    expect(made.groups.map(({ title, tensors, bytes }) => [title, tensors, bytes])).toEqual([
      ["outside of layers", 1, 100],
      ["layer 3", 2, 60],
      ["layer 13", 1, 30],
    ]);
    expect(made.sum).toMatchObject({ tensors: 4, bytes: 190, heldBytes: null, error: null });
    expect(made.groups[1]!.bitsPerWeight).toBeCloseTo((60 * 8) / (5 * 2 ** 20));
    expect(list({ group: "layer", sort: "bytes" })).toEqual([EMBEDDING, QUERY3, DOWN3, DOWN13]);
  });

  it("of roles and types stand by their bytes, and only of what was searched for", () => {
    expect(groups({ group: "role" }).groups.map(({ key }) => key)).toEqual(
      ["token_embd.weight", "ffn_down", "attn_q"].map((each) => each.replace(".weight", "")),
    );
    expect(groups({ group: "type" }).groups.map(({ title, bytes }) => [title, bytes])).toEqual([
      ["Q6_K", 140],
      ["Q4_K", 50],
    ]);
    expect(groups({ group: "type", query: "down" }).groups.map(({ bytes }) => bytes)).toEqual([40, 30]);
    expect(list({ group: "type", sort: "name" })).toEqual([DOWN3, EMBEDDING, DOWN13, QUERY3]);
  });

  it("sum what a device holds, by its forms", () => {
    const held = {
      sentence: "In f16.",
      of: ({ elements, type }: { readonly elements: number; readonly type: { readonly name: string } }) =>
        type.name === "q6_k" ? { form: "f16", bytes: 2 * elements } : { form: "none", bytes: 0 },
    };
    const made = groups({ group: "form", held });
    expect([made.heldAs, made.sum.heldBytes]).toEqual(["In f16.", 2 * 2 * 2 ** 22]);
    expect(made.groups.map(({ title, tensors, heldBytes }) => [title, tensors, heldBytes])).toEqual([
      ["f16", 2, 2 ** 24],
      ["none", 2, 0],
    ]);
    expect(list({ sort: "held", descending: true, held }).slice(0, 2)).toEqual([DOWN3, EMBEDDING]);
  });

  it("sum errors over what was compared, and sort by them: what was not compared comes last", () => {
    const error = (name: string, relative: number, compared: number): [string, ComparedTensor] => [
      name,
      { relative, compared, meanSquare: 1, rmse: relative } as ComparedTensor,
    ];
    const errors = new Map([error(DOWN3!, 0.3, 100), error(QUERY3!, 0, 300), error(DOWN13!, 0.1, 100)]);
    const made = groups({ group: "layer", errors });
    expect(made.groups.map((each) => each.error)).toEqual([null, expect.closeTo(0.15, 10), expect.closeTo(0.1, 10)]);
    expect(list({ sort: "error", descending: true, errors })).toEqual([DOWN3, DOWN13, QUERY3, EMBEDDING]);
  });

  it("of a file with too many are bounded, and hold every tensor", () => {
    const many = fileOf(Array.from({ length: 5000 }, (_, i) => tensor(`role${i}`, "f32", [1])));
    const made = tensorGroups(many, { query: "", group: "role" });
    expect([made.groups.length, made.groups.at(-1)!.title]).toEqual([2000, "3001 others"]);
    expect(made.groups.reduce((sum, { tensors }) => sum + tensors, 0)).toBe(5000);
  });
});
