import { describe, expect, it } from "vitest";
import { memorySource } from "./byteSource.ts";
import { foreignFile, foreignFolder } from "./foreign.ts";
import { openModelFile } from "./openModel.ts";

const latin = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const filled = (start: string, bytes = 64): Uint8Array => {
  const all = new Uint8Array(bytes);
  all.set(latin(start));
  return all;
};
/** A zip archive's first local header. */
const zip = (entry: string): Uint8Array =>
  filled(`PK\u0003\u0004${"\0".repeat(22)}${String.fromCharCode(entry.length)}\0\0\0${entry}`, 128);

/** As the tools write them. */
const FILES: readonly (readonly [string, Uint8Array, string])[] = [
  ["pytorch_model.bin", zip("archive/data.pkl"), "pytorch"],
  ["model.pt", zip("model/data.pkl"), "pytorch"],
  ["old.bin", filled("\u0080\u0002\u008a\nl\u00fc\u009cF\u00f9 j\u00a8P\u0019."), "pytorch"],
  ["weights.npz", zip("lm_head.weight.npy"), "numpy"],
  ["model.keras", zip("metadata.json"), "keras"],
  ["model.mlpackage.zip", zip("model.mlpackage/Manifest.json"), "core-ml"],
  ["models.zip", zip("readme.md"), "zip"],
  ["ggml-model-q4_0.bin", filled("tjgg\u0003"), "ggml"],
  ["ggml-base.bin", filled("lmgg"), "ggml"],
  ["model.tflite", filled("\u001c\0\0\0TFL3"), "tflite"],
  ["model.h5", filled("\u0089HDF\r\n\u001a\n"), "hdf5"],
  ["model.onnx", filled("\u0008\u0008\u0012\u0007pytorch\u001a\u00052.3.0"), "onnx"],
  ["bare.onnx", filled("\u0008\u0009:\u0080\u0001"), "onnx"],
  ["Model.mlmodel", filled("\u0008\u0005\u0012\u00a6\n\n\u0005"), "core-ml"],
  ["model.tar.gz", filled("\u001f\u008b\u0008"), "archive"],
  ["cat.png", filled("\u0089PNG\r\n\u001a\n"), "image"],
  ["paper.pdf", filled("%PDF-1.7"), "pdf"],
  ["mistral.llamafile", filled("MZqFpD"), "llamafile"],
  ["model.gguf", latin("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 491\n"), "lfs-pointer"],
  ["download.gguf", latin("<!DOCTYPE html><title>404 not found</title>"), "web-page"],
  ["begun.gguf", new Uint8Array(512), "zeros"],
  ["today.rlxtrace", latin('{"rlxtrace":1,"recording":{}}'), "recording"],
  ["talk.rlxsession", latin('{"format":"rlx-session","version":1}'), "session"],
  ["bench.json", latin('{ "records": [] }'), "json"],
  ["notes.txt", latin("A shopping list: caf\u00c3\u00a9, bread."), "text"],
];

describe("a file of another format", () => {
  it.each(FILES)("%s is told by its bytes, with a next step", (name, bytes, id) => {
    const found = foreignFile(name, bytes);
    expect(found?.id).toBe(id);
    expect(found?.hint).toMatch(/\.$/u);
  });

  it.each(FILES)("%s is refused by what it is where it is opened", async (name, bytes, id) => {
    await expect(openModelFile(memorySource(name, bytes))).rejects.toMatchObject({
      code: "INPUT_NOT_GGUF",
      details: { foreign: id },
    });
  });

  it("is none of the JSON that lies beside weights", () => {
    for (const name of [
      "config.json",
      "a/tokenizer_config.json",
      "model.safetensors.index.json",
      "special_tokens_map.json",
      "Qwen3-0.6B",
    ])
      expect(foreignFile(name, latin('{"model_type": "llama"}'))).toBeUndefined();
  });

  it("is not guessed from bytes without a sign", () => {
    const random = Uint8Array.from({ length: 512 }, (_, i) => ((i * 167 + 91) ^ (i >> 2)) & 255);
    expect(foreignFile("x.bin", random)).toBeUndefined();
    expect(foreignFile("empty", new Uint8Array(0))).toBeUndefined();
  });

  it("is never a safetensors file", async () => {
    const header = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
    const bytes = new Uint8Array(8 + header.length + 4);
    bytes.set([header.length]);
    bytes.set(latin(header), 8);
    const file = await openModelFile(memorySource("weights.safetensors", bytes));
    expect(file.made?.from).toBe("safetensors");
    await file.close();
  });
});

describe("a folder of another format", () => {
  it("is told by the names in it", () => {
    expect(foreignFolder(["Manifest.json", "Data"])?.what).toBe("a Core ML package");
    expect(foreignFolder(["coremldata.bin", "model.mil"])?.what).toBe("a compiled Core ML model");
    expect(foreignFolder(["config.json", "pytorch_model.bin"])?.id).toBe("pytorch");
    // Both are there: the one that is read counts.
    expect(foreignFolder(["config.json", "pytorch_model.bin", "model.safetensors"])).toBeUndefined();
    expect(foreignFolder(["a.txt"])).toBeUndefined();
  });
});
