/**
 * A model family is one file and one line in the list: a toy family that shares nothing with the
 * dense decoders but the general parts. Its layers differ in size, and it has no caches.
 */
import { describe, expect, it } from "vitest";
import { numberEntry, numbersEntry, stringEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { verify } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable } from "../ops/index.ts";
import { tinyParam } from "../testing/tinyModels.ts";
import { missingTensor, readWith } from "./architecture.ts";
import { INPUTS, LOGITS } from "./blocks.ts";
import { Decoder } from "./decoder.ts";
import { vocabularySize } from "./dense.ts";
import { FAMILIES } from "./families/index.ts";
import type { Family } from "./family.ts";
import { defineFamily } from "./family.ts";

// ---- the one file: main/models/families/toy.ts
interface ToyHyper {
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly inner: readonly number[];
  readonly vocabulary: number;
  readonly context: number;
  readonly norm: "rms";
  readonly normEpsilon: number;
  readonly tiedEmbedding: boolean;
}

const toy = defineFamily<ToyHyper>({
  name: "toy",
  architectures: ["toy", "toy2"],
  read: (keys) => {
    const layers = keys.positive("block_count");
    const width = keys.positive("embedding_length");
    return {
      name: keys.name,
      layers,
      width,
      inner: keys.perLayer("feed_forward_length", layers),
      vocabulary: vocabularySize(keys, width),
      context: keys.positive("context_length"),
      norm: "rms",
      normEpsilon: 1e-5,
      tiedEmbedding: true,
    };
  },
  sizes: (h) => ({ ...h, feedForward: Math.max(...h.inner), cache: { elements: 0, product: "no caches" } }),
  sentence: (h) => `A toy of ${h.layers} layers.`,
  facts: (h) => [{ label: "inner sizes", value: h.inner.join(", ") }],
  *graph(h, weights, options) {
    const d = new Decoder(h, weights, options);
    const x = yield* d.layers(d.embed(), (i, stream) => {
      const inner = h.inner[i] ?? 0;
      const up = d.g.silu([d.linear(stream, `blk.${i}.ffn_up`, [inner, h.width], "up")]);
      return d.g.add([stream, d.linear(up, `blk.${i}.ffn_down`, [h.width, inner], "down")]);
    });
    d.head(x);
    return d.finish();
  },
});

// ---- the one line
const WITH_TOY: readonly Family[] = [...FAMILIES, toy];

const f32 = ggmlTypeByName("f32")!;
const tensor = (name: string, ...dims: number[]): TensorShape => ({ name, type: f32, dims });
const TENSORS = [
  tensor("token_embd.weight", 8, 20),
  tensor("output_norm.weight", 8),
  tensor("blk.0.ffn_up.weight", 8, 12),
  tensor("blk.0.ffn_down.weight", 12, 8),
  tensor("blk.1.ffn_up.weight", 8, 16),
  tensor("blk.1.ffn_down.weight", 16, 8),
];
const toyFile = (name = "toy2", tensors: readonly TensorShape[] = TENSORS): Promise<GgufFile> =>
  makeHeaderOnly("toy.gguf", {
    entries: [
      stringEntry("general.architecture", name),
      numberEntry(`${name}.block_count`, "u32", 2),
      numberEntry(`${name}.embedding_length`, "u32", 8),
      numbersEntry(`${name}.feed_forward_length`, "u32", [12, 16]),
      numberEntry(`${name}.context_length`, "u32", 32),
    ],
    tensors,
  });

const reading = (file: GgufFile, families = WITH_TOY) => readWith(families, file);

describe("a toy family", () => {
  it("is unknown without its line, and the sentence follows the list", async () => {
    const unknown = reading(await toyFile(), FAMILIES);
    expect(unknown).toMatchObject({ kind: "unsupported", name: "toy2" });
    const count = FAMILIES.flatMap(({ architectures }) => architectures).length;
    expect(unknown.kind === "unsupported" && unknown.sentence).toContain(
      `(llama, qwen3, gemma3 and ${count - 3} more are)`,
    );
    const toy = WITH_TOY.filter((family) => !FAMILIES.includes(family));
    const named = toy.flatMap(({ architectures }) => architectures).join(", ");
    const other = reading(await toyFile("toy3"), toy);
    expect(other.kind === "unsupported" && other.sentence).toContain(`(${named} are)`);
  });

  it("answers for its names, reads sizes per layer, and runs", async () => {
    const file = await toyFile();
    const read = reading(file);
    if (read.kind !== "known" || read.architecture.kind !== "decoder") throw new Error("the toy is not known");
    const { architecture } = read;
    expect(architecture).toMatchObject({ name: "toy2", family: "toy", sentence: "A toy of 2 layers.", layers: 2 });
    expect(architecture.facts).toEqual([{ label: "inner sizes", value: "12, 16" }]);
    expect(missingTensor(file, architecture)).toBeUndefined();
    const options = { capacity: 4, cacheType: "f32", largestStep: 4, largestRows: 4 } as const;
    const graph = finish(architecture.graph(weightSourceOf(file), options));
    expect(verify(opTable, graph)).toEqual([]);
    const inputs = {
      [INPUTS.tokens]: hostTensor("i32", [3], [1, 2, 3]),
      [INPUTS.past]: hostScalar("i32", 0),
      [INPUTS.rows]: hostTensor("i32", [1], [2]),
    };
    expect(finish(evaluate(graph, { inputs, param: tinyParam })).outputs[LOGITS]?.shape).toEqual([1, 20]);
  });

  it("says which tensors it does not read, and which it misses, from its own list", async () => {
    const more = reading(await toyFile("toy", [...TENSORS, tensor("blk.0.attn_q.weight", 8, 8)]));
    expect(more.kind === "unsupported" && more.sentence).toContain('"blk.0.attn_q.weight"');
    const less = await toyFile("toy", TENSORS.slice(0, -1));
    const read = reading(less);
    expect(read.kind === "known" && missingTensor(less, read.architecture)?.code).toBe("INPUT_MISSING_TENSOR");
  });
});
