import { describe, expect, it } from "vitest";
import type { Contract, EngineClient } from "../../main/contract/contract.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import {
  feedHeader,
  modelsOfFiles,
  modelsOfFolder,
  noModelIn,
  partsToSend,
  textOf,
  uploadModel,
} from "./droppedFile.ts";

const file = (name: string, text = "x"): File => new File([text], name);
const folder = (...names: readonly string[]): ReadonlyMap<string, File> =>
  new Map(names.map((name) => [name, file(name.split("/").at(-1) ?? "", name)]));

const names = (models: readonly { readonly file: File }[]): readonly string[] => models.map((model) => model.file.name);
const oneOf = (name: string, files: ReadonlyMap<string, File>) => {
  const [model] = modelsOfFolder(name, files);
  if (model === undefined) throw new Error("no model");
  return model;
};

describe("what was dropped", () => {
  it("is each model once, by its first part, with the others beside it", () => {
    const { models, others } = modelsOfFiles([
      ...[file("b-00002-of-00002.gguf"), file("a.gguf"), file("b-00001-of-00002.gguf")],
      ...[file("mmproj-a.gguf"), file("notes.txt")],
    ]);
    expect(names(models)).toEqual(["a.gguf", "b-00001-of-00002.gguf"]);
    expect([...(models[1]?.beside.keys() ?? [])]).toContain("b-00002-of-00002.gguf");
    expect(others.map(({ name }) => name)).toEqual(["notes.txt"]);
    expect(modelsOfFiles([])).toEqual({ models: [], others: [] });
    expect(modelsOfFiles([file("notes.txt")]).models).toEqual([]);
  });

  it("is one model where the files of a Hugging Face folder come without it", () => {
    const { models, others } = modelsOfFiles([
      ...[file("config.json"), file("tokenizer.json"), file("model-00001-of-00002.safetensors")],
      file("model-00002-of-00002.safetensors"),
    ]);
    expect(names(models)).toEqual(["model-00001-of-00002.safetensors"]);
    expect(others).toEqual([]);
  });

  it("is what a folder holds: a model of Hugging Face, its GGUFs, and those in its folders", () => {
    const hf = modelsOfFolder("M", folder("config.json", "model.safetensors", "1_Pooling/config.json"));
    expect(hf).toMatchObject([{ folder: "M", file: { name: "config.json" } }]);
    expect([...(hf[0]?.beside.keys() ?? [])]).toContain("1_Pooling/config.json");
    const parts = modelsOfFolder("M", folder("m-00002-of-00002.gguf", "m-00001-of-00002.gguf", "config.json"));
    expect(parts).toMatchObject([{ folder: null, file: { name: "m-00001-of-00002.gguf" } }]);
    const studio = modelsOfFolder("models", folder("org/one/one-Q4.gguf", "org/two/two-Q8.gguf", "b.gguf", "a.gguf"));
    expect(names(studio)).toEqual(["a.gguf", "b.gguf", "one-Q4.gguf", "two-Q8.gguf"]);
    expect([...(studio[2]?.beside.keys() ?? [])]).toEqual(["one-Q4.gguf"]);
    expect(modelsOfFolder("M", folder("config.json", "notes.txt"))).toEqual([]);
    expect(noModelIn("x.mlpackage", folder("Manifest.json")).message).toBe(
      "[x.mlpackage] not a GGUF: got a Core ML package, expected a model file",
    );
    expect(noModelIn("x", folder("notes.txt")).message).toMatch(/^\[folder\] the folder x: got no GGUF/u);
  });
});

it("reads a small text, and refuses a large one before it is read", async () => {
  expect(await textOf(file("tools.json", "[{}]"), 4)).toBe("[{}]");
  await expect(textOf(file("tools.json", "[{}]"), 3)).rejects.toMatchObject({ code: "INPUT_LIMIT" });
});

/** An engine that reads one sibling, and keeps what it is sent. */
function fakeEngine(fails?: WorkbenchError): { engine: EngineClient; sent: string[]; begun: unknown[] } {
  const sent: string[] = [];
  const begun: unknown[] = [];
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  const call = async (name: keyof Contract["calls"], input: Record<string, unknown>): Promise<unknown> => {
    if (name === "header.begin") {
      if (fails !== undefined) throw fails;
      return { kind: "more", header: "h", file: "model.safetensors", offset: 0, length: 5 };
    }
    if (name === "header.feed") {
      sent.push(text(input["bytes"] as Uint8Array));
      return { kind: "ready", header: "h", foundPath: null };
    }
    if (name === "upload.begin") {
      begun.push(input);
      return { upload: "u", chunkBytes: 4 };
    }
    if (name === "upload.chunk") sent.push(`${String(input["offset"])}:${text(input["bytes"] as Uint8Array)}`);
    return { ok: true, receivedBytes: 0 };
  };
  return { engine: { call } as unknown as EngineClient, sent, begun };
}

describe("sending it", () => {
  it("reads siblings for the header, and sends what was read of, one behind the other", async () => {
    const { engine, sent, begun } = fakeEngine();
    const dropped = oneOf("M", folder("config.json", "model.safetensors", "README.md"));
    await feedHeader(engine, dropped);
    expect(sent.splice(0)).toEqual(["model"]);
    expect(partsToSend(dropped).map(([name]) => name)).toEqual(["config.json", "model.safetensors"]);
    const shown: number[] = [];
    await uploadModel(engine, dropped, new AbortController().signal, (done) => shown.push(done));
    expect(begun).toEqual([
      { name: "config.json", size: 11, folder: "M", beside: [{ name: "model.safetensors", size: 17 }] },
    ]);
    expect(sent.slice(0, 4)).toEqual(["0:conf", "4:ig.j", "8:son", "11:mode"]);
    expect(shown.at(-1)).toBe(28);
  });

  it("says for files that a browser sees no others", async () => {
    const lost = new WorkbenchError("INPUT_SPLIT", "[m] missing", { hint: "Put all files into one folder." });
    const [alone] = modelsOfFiles([file("model-00001-of-00002.safetensors")]).models;
    if (alone === undefined) throw new Error("there is a file");
    await expect(feedHeader(fakeEngine(lost).engine, alone)).rejects.toMatchObject({
      code: "INPUT_SPLIT",
      hint: expect.stringContaining("drop the model’s folder".replace("’", "'")) as string,
    });
  });
});
