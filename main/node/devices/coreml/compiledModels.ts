/**
 * Compiled models in the data folder, named by the hash of their content. The system ties its Neural
 * Engine specialisation to the path, so a path never changes its content and content never moves. An
 * index maps an export to its content, so a model is exported once per target. Old models are evicted,
 * and the oldest ones when the folder is over its limit.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MODEL_PATH, openPackage, WEIGHTS_PATH } from "../../../backends/coreml/package.ts";
import { packageReader } from "../../files/packageDirectory.ts";
import type { CacheBounds, CompiledFacts, IndexFacts } from "./modelFolder.ts";
import {
  BOUNDS,
  COMPILED,
  markUse,
  modelsIn,
  readIndex,
  removeEverything,
  sumOf,
  trimModels,
  usedByOthers,
} from "./modelFolder.ts";
import { makeFolder } from "../../files/makeFolder.ts";

export interface CompiledModel extends IndexFacts {
  readonly path: string;
}

/** Facts of an export before it is made: weights, target, build of the program. */
export const exportKey = (...facts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(facts)).digest("hex");

async function hashFile(into: ReturnType<typeof createHash>, path: string, signal?: AbortSignal): Promise<void> {
  const stream = createReadStream(path, { highWaterMark: 1 << 20, ...(signal === undefined ? {} : { signal }) });
  for await (const chunk of stream) into.update(chunk as Uint8Array);
}

/** SHA-256 over the program and the weights of a package. */
export async function contentOf(packagePath: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await hashFile(hash, join(packagePath, MODEL_PATH), signal);
  const weights = join(packagePath, WEIGHTS_PATH);
  const { size } = await stat(weights).catch(() => ({ size: 0 }));
  hash.update(`weights ${size}\n`);
  if (size > 0) await hashFile(hash, weights, signal);
  return hash.digest("hex").slice(0, 32);
}

export class CompiledModels {
  readonly folder: string;
  readonly #bounds: CacheBounds;
  /** Models that this process uses. Other processes see a mark and do not remove them. */
  readonly #inUse = new Set<string>();
  #trimmed: Promise<void> | undefined;

  constructor(dataFolder: string, bounds: CacheBounds = BOUNDS) {
    this.folder = join(dataFolder, "coreml");
    this.#bounds = bounds;
  }

  pathOf(content: string): string {
    return join(this.folder, `${content}${COMPILED}`);
  }

  /** The compiled model that an export made earlier, while it still exists. */
  async find(key: string): Promise<CompiledModel | undefined> {
    const index = join(this.folder, `${key}.json`);
    const facts = await readIndex(index);
    if (facts === undefined) return undefined;
    try {
      const path = this.pathOf(facts.content);
      // Before the first await: from here on it is not evicted.
      await this.#use(facts.content);
      await access(path);
      // The index holds the time of last use, because the model itself must not change.
      const now = new Date();
      await utimes(index, now, now).catch(() => undefined);
      // Evicts once per process, even if nothing new is made.
      await (this.#trimmed ??= trimModels(this.folder, this.#bounds, this.#inUse).catch(() => undefined));
      return { ...facts, path };
    } catch {
      return undefined;
    }
  }

  /** Makes a temporary package, lets `compile` turn it into a model, and removes the package. */
  async make(
    key: string,
    write: (path: string) => Promise<void>,
    compile: (packagePath: string, model: CompiledModel) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<CompiledModel> {
    await makeFolder(this.folder);
    // This process and others may make the same model at the same time.
    const own = `${key.slice(0, 16)}.${process.pid}.${randomUUID()}`;
    const packagePath = join(this.folder, `${own}.mlpackage`);
    try {
      await write(packagePath);
      const model = await this.#describe(packagePath, signal);
      await this.#use(model.content);
      await compile(packagePath, model);
      const { path: _, ...facts } = model;
      const partial = join(this.folder, `${own}.partial`);
      await writeFile(partial, JSON.stringify(facts));
      await rename(partial, join(this.folder, `${key}.json`));
      await trimModels(this.folder, this.#bounds, this.#inUse);
      return model;
    } finally {
      await rm(packagePath, { recursive: true, force: true });
    }
  }

  async facts(): Promise<CompiledFacts> {
    const { entries, bytes } = sumOf(await modelsIn(this.folder));
    return { folder: this.folder, entries, bytes, limit: this.#bounds.bytes };
  }

  /** Number of models that other processes have open. */
  async usedByOthers(): Promise<number> {
    const used = await usedByOthers(this.folder);
    return (await modelsIn(this.folder)).filter(({ content }) => used.has(content)).length;
  }

  /** Marks a use: at once in this process, then on disk for other processes. */
  #use(content: string): Promise<void> {
    this.#inUse.add(content);
    return markUse(this.folder, content);
  }

  /** Removes every model that no other process has open. Returns what was really removed. */
  async clear(): Promise<CompiledFacts> {
    const before = await this.facts();
    await removeEverything(this.folder);
    this.#inUse.clear();
    const after = await this.facts();
    return { ...before, entries: before.entries - after.entries, bytes: before.bytes - after.bytes };
  }

  async #describe(packagePath: string, signal?: AbortSignal): Promise<CompiledModel> {
    const content = await contentOf(packagePath, signal);
    const reader = packageReader(packagePath);
    try {
      const opened = await openPackage(reader);
      const functions = opened.program.functions.map((one) => one.name);
      return { content, path: this.pathOf(content), functions, userDefined: opened.userDefined };
    } finally {
      await reader.close();
    }
  }
}
