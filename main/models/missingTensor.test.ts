import { describe, expect, it } from "vitest";
import { numberEntry, stringEntry, stringsEntry, withEntries } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { finish } from "../ir/steps.ts";
import { TINY_OPTIONS } from "../testing/tinyModels.ts";
import type { ArchitectureReading } from "./architecture.ts";
import { missingTensor, readArchitecture, requireArchitecture } from "./architecture.ts";
import { llama } from "./families/llama.ts";
import { LLAMA_1B, headerOnlyModel } from "./headerOnly.ts";

const whole = async (): Promise<GgufFile> => headerOnlyModel({ ...LLAMA_1B, layers: 2 });

/** A file of other tensors and keys. */
async function changed(
  file: GgufFile,
  change: (tensor: TensorShape) => readonly TensorShape[],
  entries: readonly MetadataEntry[] = file.metadata.entries,
): Promise<GgufFile> {
  const tensors = file.tensors.map(({ name, type, shape }) => ({ name, type, dims: shape.toReversed() }));
  return makeHeaderOnly("t.gguf", { entries, tensors: tensors.flatMap(change) });
}
const without = (file: GgufFile, name: string): Promise<GgufFile> =>
  changed(file, (tensor) => (tensor.name === name ? [] : [tensor]));
const resized = (file: GgufFile, name: string): Promise<GgufFile> =>
  changed(file, (tensor) =>
    tensor.name === name ? [{ ...tensor, dims: tensor.dims.map((size) => 2 * size) }] : [tensor],
  );
/** With another vector or matrix behind the tensor `after`; dims as the file writes them. */
const withTensor = (file: GgufFile, after: string, name: string, dims: readonly number[]): Promise<GgufFile> =>
  changed(file, (tensor) =>
    tensor.name === after ? [tensor, { name, type: ggmlTypeByName("f32")!, dims }] : [tensor],
  );

/** The same tensors as a qwen3, with the norms of its heads: its keys have another prefix. */
async function qwen3(): Promise<GgufFile> {
  const file = await whole();
  const entries = file.metadata.entries.map((entry) =>
    entry.key === "general.architecture"
      ? stringEntry(entry.key, "qwen3")
      : { ...entry, key: entry.key.replace(/^llama\./, "qwen3.") },
  );
  const f32 = ggmlTypeByName("f32")!;
  return changed(
    file,
    (tensor) => {
      if (tensor.name === "rope_freqs.weight") return [];
      const [, block] = /^(blk\.\d+\.)attn_norm/.exec(tensor.name) ?? [];
      const norm = (of: string): TensorShape => ({ name: `${block}attn_${of}_norm.weight`, type: f32, dims: [64] });
      return block === undefined ? [tensor] : [tensor, norm("q"), norm("k")];
    },
    entries,
  );
}

const faultOf = (file: GgufFile) => {
  const error = missingTensor(file, requireArchitecture(file));
  return error && [error.code, error.message];
};
const lacks = (name: string) => ["INPUT_MISSING_TENSOR", `[t.gguf] the file has no tensor "${name}"`];
const differs = (name: string, got: string, expected: string) => [
  "INPUT_MALFORMED",
  `[t.gguf] tensor "${name}": got ${got}, expected ${expected}`,
];

describe("the tensors of a decoder", () => {
  it("are there", async () => {
    expect(faultOf(await whole())).toBeUndefined();
    expect(faultOf(await changed(await whole(), (tensor) => [tensor]))).toBeUndefined();
    expect(faultOf(await qwen3())).toBeUndefined();
  });

  it.each([
    ["llama", whole],
    ["qwen3", qwen3],
  ])("are each missed by name in a %s", async (_family, make) => {
    const file = await make();
    // The embedding's size is a key's: without it the keys alone are broken. Without rope_freqs nothing is scaled.
    const needed = file.tensors.map(({ name }) => name).filter((name) => !/^(token_embd|rope_freqs)/.test(name));
    expect(needed).toHaveLength(make === qwen3 ? 23 : 19);
    for (const name of needed) expect(faultOf(await without(file, name))).toEqual(lacks(name));
  });

  it("have the shapes that the keys say", async () => {
    const llama = await whole();
    const cases: readonly (readonly [name: string, got: string, expected: string, file: GgufFile])[] = [
      ["blk.1.attn_k.weight", "[1024,4096]", "[512,2048]", llama],
      ["blk.0.ffn_norm.weight", "[4096]", "[2048]", llama],
      ["blk.1.ffn_down.weight", "[4096,16384]", "[2048,8192]", llama],
      ["rope_freqs.weight", "[64]", "[32]", llama],
      ["blk.1.attn_k_norm.weight", "[128]", "[64]", await qwen3()],
    ];
    for (const [name, got, expected, file] of cases)
      expect(faultOf(await resized(file, name))).toEqual(differs(name, got, expected));
  });

  it("may be an output matrix of its own, of the embedding's shape", async () => {
    const untied = (dims: readonly number[]) =>
      whole().then((file) => withTensor(file, "output_norm.weight", "output.weight", dims));
    expect(faultOf(await untied([2048, 128256]))).toBeUndefined();
    expect(faultOf(await untied([2048, 128255]))).toEqual(differs("output.weight", "[128255,2048]", "[128256,2048]"));
  });

  it("may be biases, as long as the product's rows", async () => {
    const biased = (dims: readonly number[]) =>
      whole().then((file) => withTensor(file, "blk.1.attn_k.weight", "blk.1.attn_k.bias", dims));
    expect(faultOf(await biased([512]))).toBeUndefined();
    expect(faultOf(await biased([2048]))).toEqual(differs("blk.1.attn_k.bias", "[2048]", "[512]"));
    expect(faultOf(await biased([1, 512]))).toEqual(differs("blk.1.attn_k.bias", "[512,1]", "[512]"));
  });
});

describe("a vocabulary", () => {
  const withTokens = async (count: number): Promise<GgufFile> => {
    const file = await whole();
    const key = "tokenizer.ggml.tokens";
    const tokens = stringsEntry(key, new Array<string>(count).fill("a"));
    return changed(file, (tensor) => [tensor], withEntries(file.metadata.entries, { [key]: tokens }));
  };

  it.each([300, 128255, 128258])("of %i tokens does not fit an embedding of 128256 rows", async (count) => {
    const reading = readArchitecture(await withTokens(count));
    expect(reading).toMatchObject({ kind: "broken", error: { code: "INPUT_MALFORMED" } });
    const message = reading.kind === "broken" ? reading.error.message : "";
    expect(message).toMatch(new RegExp(`^\\[t\\.gguf\\] .*${count} tokens.*128256`));
  });

  it("of as many tokens as rows fits, and so does none", async () => {
    expect(readArchitecture(await withTokens(128256)).kind).toBe("known");
    expect(readArchitecture(await whole()).kind).toBe("known");
  });
});

describe("rope scaling", () => {
  it.each([
    ["is not given", undefined, 131072],
    ["is 0", 0, 131072],
    ["is given", 8192, 8192],
  ])("takes the context it was trained for where yarn's %s", async (_title, given, expected) => {
    const file = await whole();
    const key = "llama.rope.scaling.original_context_length";
    const entries = withEntries(file.metadata.entries, {
      "llama.rope.scaling.type": stringEntry("llama.rope.scaling.type", "yarn"),
      "llama.rope.scaling.factor": numberEntry("llama.rope.scaling.factor", "f32", 4),
      ...(given === undefined ? {} : { [key]: numberEntry(key, "u32", given) }),
    });
    const yarn = await changed(file, (tensor) => [tensor], entries);
    expect(llama.hyper(yarn, "llama").rope.scaling).toMatchObject({ kind: "yarn", originalContext: expected });
    const graph = finish(requireArchitecture(yarn).graph(weightSourceOf(yarn), TINY_OPTIONS));
    expect(graph.nodes.length).toBeGreaterThan(0);
  });
});

describe("what is no model", () => {
  const ofType = async (type: string): Promise<ArchitectureReading> => {
    const file = await whole();
    const entries = withEntries(file.metadata.entries, { "general.type": stringEntry("general.type", type) });
    return readArchitecture(await changed(file, (tensor) => [tensor], entries));
  };

  it.each([
    ["adapter", /^It is an adapter \(LoRA\), not a model/],
    ["imatrix", /^It is an importance matrix/],
  ])("%s is called so", async (type, sentence) => {
    const reading = await ofType(type);
    expect(reading.kind === "unsupported" && reading.sentence).toMatch(sentence);
  });

  it.each(["model", "constructor", "__proto__", ""])("is not told by the type %j", async (type) => {
    expect((await ofType(type)).kind).toBe("known");
  });

  it("a file without tensors has no weights", async () => {
    const file = await whole();
    const sentenceOf = async (entries: readonly MetadataEntry[]): Promise<string> => {
      const reading = readArchitecture(await changed(file, () => [], entries));
      return reading.kind === "unsupported" ? reading.sentence : reading.kind;
    };
    const { entries } = file.metadata;
    expect(await sentenceOf(entries)).toMatch(/^It holds no weights, only keys\. /);
    const words = [...entries, stringEntry("tokenizer.ggml.model", "gpt2")];
    expect(await sentenceOf(words)).toMatch(/^It holds no weights, only a vocabulary and keys\. /);
  });
});
