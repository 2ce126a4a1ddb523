import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  copyFileSync,
  renameSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FoundList } from "../../contract/views/found.ts";
import { stringEntry } from "../../formats/gguf/encode.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { modelFiles } from "../files/modelFiles.ts";
import type { FinderParts } from "./finder.ts";
import { createFinder } from "./finder.ts";
import { modelBlob, ollamaName } from "./ollama.ts";
import type { Place } from "./places.ts";
import { usualPlaces } from "./places.ts";

let folder: string;
let tiny: string;
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "rlx-finder-")));
  tiny = join(folder, "tiny.bin");
  await writeTinyGguf(tiny);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, text: string | Buffer = ""): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};
const putModel = (path: string): string => {
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(tiny, path);
  return path;
};
const root = (name: string): string => {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
};

async function find(places: readonly Place[], parts: Partial<FinderParts> = {}): Promise<FoundList> {
  let last: FoundList | undefined;
  const asked = { folders: [], usual: true, watch: false, signal: new AbortController().signal };
  for await (const list of createFinder({ ...parts, usual: places }).find(asked)) last = list;
  if (last === undefined) throw new Error("no list");
  return last;
}
const names = ({ models }: FoundList): readonly string[] => models.map(({ name }) => name);

describe("folders of models", () => {
  it("LM Studio's: each model once, with type and size from its header, without what lies beside models", async () => {
    const lm = root("lm-studio");
    const path = putModel(join(lm, "org", "tiny-GGUF", "tiny-Q4_K_M.gguf"));
    putModel(join(lm, "org", "tiny-GGUF", "mmproj-tiny-f16.gguf"));
    await writeTinyGguf(join(lm, "org", "tiny-GGUF", "lora.gguf"), { keys: [stringEntry("general.type", "adapter")] });
    put(join(lm, "org", "tiny-GGUF", "README.md"), "# tiny");
    put(join(lm, "org", "broken", "cut.gguf"), "GGUF");
    const list = await find([{ kind: "lm-studio", folder: lm }]);
    expect(names(list)).toEqual(["cut", "tiny-Q4_K_M"]);
    expect(list.models[1]).toMatchObject({
      ...{ path, place: "lm-studio", where: "LM Studio, org/tiny-GGUF", architecture: "qwen3", variant: "F32" },
      ...{ parts: 1, problem: null },
    });
    expect(list.models[0]?.problem).toMatch(/got/u);
    expect(list.places).toEqual([{ kind: "lm-studio", folder: lm, models: 2, note: null, watched: false }]);
    expect(list.complete).toBe(true);
  });

  it("parts of a split model are one, and a missing one is said", async () => {
    const split = root("split");
    for (const part of [1, 3]) put(join(split, `big-0000${part}-of-00003.gguf`), "GGUF");
    const list = await find([{ kind: "llama-cpp", folder: split }]);
    expect(list.models).toMatchObject([{ name: "big", parts: 3, problem: "Only 2 of its 3 parts are here." }]);
  });

  it("Hugging Face's cache: snapshots lead to blobs beside them, and only there", async () => {
    const hub = root("hub");
    const repo = join(hub, "models--org--tiny");
    const snapshot = join(repo, "snapshots", "0123");
    const blob = putModel(join(repo, "blobs", "abc"));
    mkdirSync(snapshot, { recursive: true });
    symlinkSync(blob, join(snapshot, "tiny.gguf"));
    // The same blob in another revision.
    mkdirSync(join(repo, "snapshots", "4567"), { recursive: true });
    symlinkSync(blob, join(repo, "snapshots", "4567", "tiny.gguf"));
    const outside = putModel(join(folder, "outside", "secret.gguf"));
    symlinkSync(outside, join(snapshot, "secret.gguf"));
    symlinkSync(dirname(outside), join(snapshot, "linked"));
    const plain = join(hub, "models--org--whole", "snapshots", "89");
    put(join(plain, "config.json"), '{"model_type":"qwen3","torch_dtype":"bfloat16"}');
    put(join(plain, "model.safetensors"), "0123456789");
    const list = await find([{ kind: "hugging-face", folder: hub }]);
    expect(names(list).toSorted()).toEqual(["org/whole", "tiny"]);
    expect(list.models.find(({ name }) => name === "org/whole")).toMatchObject({
      ...{ path: plain, bytes: 10, variant: "BF16", architecture: "qwen3", where: "Hugging Face" },
    });
    expect(list.models.find(({ name }) => name === "tiny")?.where).toBe("Hugging Face, org/tiny");
  });

  it("limits end a search, and are said", async () => {
    const many = root("many");
    for (let i = 0; i < 30; i++) put(join(many, `f${i}`, "note.txt"));
    putModel(join(many, "a", "b", "c", "d", "deep.gguf"));
    const cut = await find([{ kind: "lm-studio", folder: many }], {
      limits: { depth: 6, entries: 10, milliseconds: 1e4 },
    });
    expect(cut.places[0]?.note).toBe("Only its first 10 files were looked at.");
    const flat = await find([{ kind: "lm-studio", folder: many }], {
      limits: { depth: 2, entries: 1e4, milliseconds: 1e4 },
    });
    expect(flat.models).toEqual([]);
    const late = await find([{ kind: "lm-studio", folder: many }], {
      limits: { depth: 6, entries: 1e4, milliseconds: -1 },
    });
    expect(late.places[0]?.note).toMatch(/The search ended after/u);
  });

  it("a search says whether it looked where other programs keep theirs", async () => {
    const usual = [{ kind: "lm-studio", folder: join(folder, "none") }] as const;
    for (const asked of [true, false]) {
      const of = { folders: [], usual: asked, watch: false, signal: new AbortController().signal };
      for await (const list of createFinder({ usual }).find(of)) expect(list.usual).toBe(asked);
    }
    // As with RLX_FIND_MODELS=off.
    expect((await find([])).usual).toBe(false);
  });

  it("a search that is cancelled ends", async () => {
    const abort = new AbortController();
    abort.abort();
    const asked = { folders: [folder], usual: false, watch: false, signal: abort.signal };
    const lists: FoundList[] = [];
    for await (const list of createFinder({ usual: [] }).find(asked)) lists.push(list);
    expect(lists.some(({ complete }) => complete)).toBe(false);
  });
});

describe("Ollama's store", () => {
  const hash = "a".repeat(64);
  const manifest = (digest: string, mediaType = "application/vnd.ollama.image.model"): string =>
    JSON.stringify({
      schemaVersion: 2,
      layers: [
        { mediaType: "application/x", digest: "x", size: 1 },
        { mediaType, digest, size: 5 },
      ],
    });

  it("names come from manifests, files from blobs; a blob of two names is told once and opens", async () => {
    const store = root("ollama");
    const blob = putModel(join(store, "blobs", `sha256-${hash}`));
    const library = join(store, "manifests", "registry.ollama.ai", "library", "tiny");
    put(join(library, "1b"), manifest(`sha256:${hash}`));
    put(join(library, "latest"), manifest(`sha256:${hash}`));
    const list = await find([{ kind: "ollama", folder: store }]);
    expect(list.models).toMatchObject([
      { path: blob, name: "tiny:1b", where: "Ollama, also tiny:latest", architecture: "qwen3", problem: null },
    ]);
    const { source } = await modelFiles.open(blob);
    expect(source.byteLength).toBe(list.models[0]?.bytes);
    await source.close();
  });

  it("hostile manifests list nothing", async () => {
    const store = root("hostile");
    const secret = putModel(join(folder, "elsewhere", "secret"));
    const other = "b".repeat(64);
    mkdirSync(join(store, "blobs"), { recursive: true });
    symlinkSync(secret, join(store, "blobs", `sha256-${other}`));
    const at = (tag: string, text: string): string =>
      put(join(store, "manifests", "registry.ollama.ai", "library", "m", tag), text);
    at("path", manifest("sha256:../../../elsewhere/secret"));
    at("absolute", manifest(secret));
    at("short", manifest("sha256:ab"));
    at("link", manifest(`sha256:${other}`));
    at("absent", manifest(`sha256:${"c".repeat(64)}`));
    at("list", "[1,2]");
    at("layers", '{"layers":{"length":1e9}}');
    at("null", '{"layers":[null,{"mediaType":{},"digest":[]}]}');
    at("cut", '{"layers":[');
    at("large", `{"layers":[${"0,".repeat(1 << 20)}0]}`);
    at("deep", "[".repeat(200_000));
    expect(await find([{ kind: "ollama", folder: store }])).toMatchObject({ models: [], complete: true });
  });

  it("names are Ollama's own, or none", () => {
    expect(ollamaName("registry.ollama.ai/library/llama3.2/1b")).toBe("llama3.2:1b");
    expect(ollamaName("registry.ollama.ai/jane/phi/latest")).toBe("jane/phi:latest");
    expect(ollamaName("hf.co/org/Model-GGUF/Q4_K_M")).toBe("hf.co/org/Model-GGUF:Q4_K_M");
    for (const odd of ["a/b/c", "a/b/c/d/e", "a/b/c/\u001b[31m", "a/../b/c", `a/b/c/${"x".repeat(200)}`])
      expect(ollamaName(odd)).toBeUndefined();
    expect(modelBlob(manifest(`sha256:${hash}`))).toBe(`sha256-${hash}`);
    expect(modelBlob(manifest(`sha256:${hash}`, "application/vnd.ollama.image.projector"))).toBeUndefined();
  });
});

describe("folders that the user names", () => {
  it("are watched: a new file appears, one that goes is gone", async () => {
    const mine = root("mine");
    const abort = new AbortController();
    const asked = { folders: [mine], usual: false, watch: true, signal: abort.signal };
    const seen: (readonly string[])[] = [];
    let step = 0;
    for await (const list of createFinder({ usual: [] }).find(asked)) {
      seen.push(names(list));
      if (!list.complete || list.places[0]?.watched !== true) continue;
      // Written beside it and moved, as programs do that write whole files.
      if (step === 0 && list.models.length === 0) {
        step = 1;
        renameSync(putModel(join(folder, "moving.gguf")), join(mine, "new.gguf"));
      } else if (step === 1 && list.models.length === 1) {
        step = 2;
        rmSync(join(mine, "new.gguf"));
      } else if (step === 2 && list.models.length === 0) abort.abort();
    }
    expect(seen.at(-1)).toEqual([]);
    expect(seen).toContainEqual(["new"]);
  }, 15_000);

  it("a folder that is not there is said, and cannot be named", async () => {
    const finder = createFinder({ usual: [] });
    const asked = { folders: [join(folder, "none")], usual: false, watch: false, signal: new AbortController().signal };
    for await (const { places } of finder.find(asked))
      expect(places.map(({ note }) => note)).toEqual(places.length === 0 ? [] : ["This folder is not there."]);
    await expect(finder.folder(join(folder, "none"))).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    expect(await finder.folder(folder)).toBe(folder);
  });
});

describe("what lies at a path", () => {
  it("a file is opened, of a folder the models are listed", async () => {
    const two = root("two");
    putModel(join(two, "a.gguf"));
    put(join(two, "b.gguf"), readTiny());
    const { signal } = new AbortController();
    const finder = createFinder({ usual: [] });
    expect(await finder.look(join(two, "a.gguf"), signal)).toMatchObject({ isModel: true, models: [] });
    const looked = await finder.look(two, signal);
    expect(looked.isModel).toBe(false);
    expect(looked.models.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(await finder.look(root("empty"), signal)).toMatchObject({ isModel: true, models: [] });
  });

  it("a folder is opened by its only GGUF, and answered by what it is where it has none", async () => {
    const one = root("one");
    putModel(join(one, "model.gguf"));
    const opened = await modelFiles.open(one);
    expect(opened.path).toBe(join(one, "model.gguf"));
    await opened.source.close();
    put(join(folder, "x.mlpackage", "Manifest.json"), "{}");
    mkdirSync(join(folder, "x.mlpackage", "Data"));
    await expect(modelFiles.open(join(folder, "x.mlpackage"))).rejects.toMatchObject({
      details: { foreign: "core-ml" },
    });
    await expect(modelFiles.open(join(folder, "two"))).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });
});

const readTiny = (): Buffer => Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(64)]);

describe("the places of other programs", () => {
  it("follow their variables, and only absolute ones", () => {
    const at = (environment: Record<string, string>, platform: NodeJS.Platform): Record<string, readonly string[]> => {
      const all: Record<string, string[]> = {};
      for (const place of usualPlaces(environment, platform)) (all[place.kind] ??= []).push(place.folder);
      return all;
    };
    const mac = at({}, "darwin");
    expect(mac["lm-studio"]?.[0]).toMatch(/\.lmstudio\/models$/u);
    expect(mac["ollama"]).toHaveLength(1);
    expect(mac["llama-cpp"]?.[0]).toMatch(/Library\/Caches\/llama\.cpp$/u);
    expect(at({}, "linux")["ollama"]?.[1]).toBe("/usr/share/ollama/.ollama/models");
    const set = at(
      { OLLAMA_MODELS: "/m/ollama", HF_HOME: "/m/hf", LLAMA_CACHE: "/m/llama", XDG_CACHE_HOME: "/m/cache" },
      "linux",
    );
    expect(set["ollama"]).toEqual(["/m/ollama"]);
    expect(set["hugging-face"]).toEqual(["/m/hf/hub"]);
    expect(set["llama-cpp"]).toEqual(["/m/llama"]);
    expect(at({ HF_HUB_CACHE: "/m/hub", HF_HOME: "/m/hf" }, "darwin")["hugging-face"]).toEqual(["/m/hub"]);
    expect(at({ XDG_CACHE_HOME: "/m/cache" }, "linux")["hugging-face"]).toEqual(["/m/cache/huggingface/hub"]);
    expect(at({ HF_HOME: "relative" }, "darwin")["hugging-face"]?.[0]).toMatch(/^\/.*\.cache\/huggingface\/hub$/u);
  });
});
