/** Model files of this machine: opened by path, looked for in folders, and the sample that comes with the workbench. */
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ModelFiles } from "../../engine/services.ts";
import { foreignError, foreignFolder } from "../../formats/foreign.ts";
import { isBeside } from "../finder/group.ts";
import { userHome } from "./folders.ts";
import { uploadPrefix } from "./abandonedFiles.ts";
import { openFileSink, openFileSource, siblingOpener } from "./fileByteSource.ts";

const SAMPLE_FILE = "assets/models/rlx-sample.gguf";
/** How deep folders are searched for a dropped file. */
const SEARCH_DEPTH = 4;
const SEARCH_ENTRIES = 20_000;

/** The sample, seen from the source tree, from out/cli or out/engine, and from a packaged app's resources. */
function samplePath(): string | undefined {
  const resources =
    "resourcesPath" in process && typeof process.resourcesPath === "string"
      ? [`${process.resourcesPath}/models/rlx-sample.gguf`]
      : [];
  const near = ["../../../", "../../", "../../../../"].map((up) =>
    fileURLToPath(new URL(up + SAMPLE_FILE, import.meta.url)),
  );
  return [...resources, ...near].find((path) => existsSync(path));
}

async function* find(start: string, name: string, size: number | undefined): AsyncGenerator<string> {
  let left = SEARCH_ENTRIES;
  let level = [start];
  for (let depth = 0; depth <= SEARCH_DEPTH && level.length > 0; depth++) {
    const deeper: string[] = [];
    for (const folder of level) {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        if (left-- <= 0) return;
        const path = join(folder, entry.name);
        if (entry.isDirectory()) deeper.push(path);
        if (entry.name !== name) continue;
        if (size === undefined) yield path;
        else if (!entry.isDirectory() && (await stat(path).catch(() => undefined))?.size === size) yield path;
      }
    }
    level = deeper;
  }
}

/** A folder by its only GGUF, which may have parts; undefined where there are others, or none. */
async function onlyGguf(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.includes("config.json")) return undefined;
  const models = names.filter((name) => /\.gguf$/iu.test(name) && !isBeside(name)).toSorted();
  const stems = new Set(models.map((name) => name.replace(/-\d{5}-of-\d{5}\.gguf$/iu, "")));
  return stems.size === 1 ? models[0] : undefined;
}

const notAModel = (folder: string) => async (cause: unknown) => {
  if (!(cause instanceof WorkbenchError) || cause.code !== "INPUT_NOT_FOUND") throw cause;
  const names = await readdir(folder).catch((): string[] => []);
  const foreign = foreignFolder(names);
  if (foreign !== undefined) throw foreignError(basename(folder), foreign);
  const models = names.filter((name) => /\.gguf$/iu.test(name));
  if (models.length > 1)
    throw new WorkbenchError(
      "INPUT_NOT_FOUND",
      `[${basename(folder)}] got a folder with ${models.length} GGUF files, expected a model`,
      {
        hint: `Name one of them: ${models.slice(0, 5).join(", ")}${models.length > 5 ? " …" : ""}`,
        cause,
      },
    );
  throw new WorkbenchError("INPUT_NOT_FOUND", `[${basename(folder)}] got a folder without a config.json`, {
    hint: "Choose a model file, or the folder of a Hugging Face model.",
    cause,
  });
};

async function create(path: string, overwrite: boolean, ending = ".gguf"): ReturnType<ModelFiles["create"]> {
  const full = resolve(path);
  const kind = ending.slice(1);
  if (extname(full).toLowerCase() !== ending)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${kind}] ${full}: expected a name that ends in ${ending}`, {
      hint: "Other programs know model files by that ending.",
    });
  const folder = await stat(dirname(full)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${kind}] the folder ${dirname(full)} does not exist`, {
      hint: "Create it first, or choose another.",
    });
  const there = await stat(full).catch(() => undefined);
  if (there?.isDirectory() === true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${kind}] ${full} is a folder, expected a name for a file`, {
      hint: "Choose another name.",
    });
  if (there !== undefined && !overwrite)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${kind}] ${full} exists already`, {
      hint: "Choose another name, or overwrite it (--overwrite).",
      details: { exists: true },
    });
  return { path: full, sink: await openFileSink(full) };
}

export const modelFiles: ModelFiles = {
  async open(path) {
    const full = resolve(path);
    // A folder is opened by its config.json, and named by itself.
    if (statSync(full, { throwIfNoEntry: false })?.isDirectory() === true) {
      const only = await onlyGguf(full);
      if (only !== undefined) return modelFiles.open(join(full, only));
      const inside = join(full, "config.json");
      const source = { ...(await openFileSource(inside).catch(notAModel(full))), name: basename(full) };
      return { path: full, source, openSibling: siblingOpener(inside), beside: () => full };
    }
    const folder = dirname(full);
    const source = await openFileSource(full);
    return { path: full, source, openSibling: siblingOpener(full), beside: (name) => join(folder, name) };
  },
  absolute: (path) => resolve(path),
  async temporary(name) {
    const folder = await mkdtemp(join(tmpdir(), uploadPrefix()));
    return { path: join(folder, name), remove: () => rm(folder, { recursive: true, force: true }) };
  },
  usualFolders: () => {
    const home = userHome();
    return [
      join(home, "Downloads"),
      join(home, ".lmstudio", "models"),
      join(home, ".cache", "huggingface", "hub"),
      join(home, "models"),
    ];
  },
  find,
  create,
  sample: () => {
    const path = samplePath();
    return path === undefined ? undefined : { path, bytes: statSync(path).size };
  },
};
