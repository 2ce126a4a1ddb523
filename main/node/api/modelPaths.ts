/** Model files that a server offers, from files and folders, and what requests call them. */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";

export interface OfferedModel {
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
  /** Seconds since 1970, of the file. */
  readonly changed: number;
}

const DEPTH = 4;
const MOST_ENTRIES = 20_000;
/** A part of a split file; the first one stands for all. */
const PART = /-(\d{5})-of-(\d{5})\.gguf$/u;
/** Of other programs: what looks at pictures beside a model is none itself. */
const BESIDE = /^mmproj/iu;

type Found = Omit<OfferedModel, "id">;

export async function offeredModels(paths: readonly string[]): Promise<readonly OfferedModel[]> {
  const found: Found[] = [];
  for (const path of paths) {
    const full = resolve(path);
    const facts = await stat(full).catch(() => undefined);
    if (facts === undefined)
      throw new WorkbenchError("INPUT_NOT_FOUND", `[server] ${full}: there is no such file or folder`, {
        hint: "Name model files, or folders with model files.",
      });
    if (facts.isDirectory() && !(await isModelFolder(full))) found.push(...(await inFolder(full)));
    else found.push(await foundAt(full));
  }
  const once = [...new Map(found.map((each) => [each.path, each])).values()];
  if (once.length === 0)
    throw new WorkbenchError("INPUT_NOT_FOUND", `[server] ${paths.join(", ")}: got no model file, expected one`, {
      hint: "Model files end in .gguf.",
    });
  return named(once);
}

const isModelFolder = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, "config.json")).catch(() => undefined))?.isFile() === true;

async function inFolder(start: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  let left = MOST_ENTRIES;
  let level = [start];
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth++) {
    const deeper: string[] = [];
    for (const folder of level) {
      const entries = (await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])).toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      );
      for (const entry of entries) {
        if (left-- <= 0) return found;
        const path = join(folder, entry.name);
        const facts = await stat(path).catch(() => undefined);
        if (facts?.isDirectory() === true) deeper.push(path);
        else if (facts?.isFile() === true && isModelFile(entry.name)) found.push(await foundAt(path));
      }
    }
    level = deeper;
  }
  return found;
}

const isModelFile = (name: string): boolean =>
  name.endsWith(".gguf") && !BESIDE.test(name) && (PART.exec(name)?.[1] ?? "00001") === "00001";

/** With the bytes of all its parts. */
async function foundAt(path: string): Promise<Found> {
  const facts = await stat(path);
  const changed = Math.floor(facts.mtimeMs / 1000);
  if (facts.isDirectory()) return { path, changed, bytes: await bytesIn(path) };
  const parts = Number(PART.exec(path)?.[2] ?? 1);
  const others = Array.from({ length: Math.min(parts, 1000) - 1 }, (_, i) =>
    path.replace(PART, `-${String(i + 2).padStart(5, "0")}-of-$2.gguf`),
  );
  const sizes = await Promise.all(
    others.map((other) =>
      stat(other).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return { path, changed, bytes: sizes.reduce((sum, size) => sum + size, facts.size) };
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".safetensors"));
  const sizes = await Promise.all(files.map(async ({ name }) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const nameOf = (path: string): string =>
  basename(path)
    .replace(PART, ".gguf")
    .replace(/\.(?:gguf|safetensors)$/u, "");

/** The file's name; with its folder's, and then its number, where others are called the same. */
function named(found: readonly Found[]): readonly OfferedModel[] {
  const taken = new Set<string>();
  const isShared = (path: string): boolean => found.filter((each) => nameOf(each.path) === nameOf(path)).length > 1;
  return found.map((each) => {
    const { path } = each;
    const name = isShared(path) ? `${basename(dirname(path))}/${nameOf(path)}` : nameOf(path);
    let id = name;
    for (let i = 2; taken.has(id); i++) id = `${name}-${i}`;
    taken.add(id);
    return { id, ...each };
  });
}
