/**
 * A walk below a folder: the files in each of its folders, within limits of depth, entries and time. A link is followed to a file
 * that lies below the same folder (Hugging Face's snapshots are such links), never to a folder and never out.
 */
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { throwIfCancelled } from "../../diagnostics/errors.ts";

export interface Limits {
  readonly depth: number;
  readonly entries: number;
  readonly milliseconds: number;
}

/** What one place may cost. Folders of LM Studio are three deep, snapshots of Hugging Face four. */
export const LIMITS: Limits = { depth: 6, entries: 20_000, milliseconds: 10_000 };

/** What is left of the limits, and which was met. */
export class Budget {
  #entries: number;
  readonly #end: number;
  readonly limits: Limits;
  #note: string | null = null;
  constructor(limits: Limits) {
    this.limits = limits;
    this.#entries = limits.entries;
    this.#end = performance.now() + limits.milliseconds;
  }
  /** Why the walk ended early. */
  get note(): string | null {
    return this.#note;
  }
  /** Takes one entry; false when there is nothing left. */
  take(): boolean {
    if (this.#note !== null) return false;
    if (this.#entries-- <= 0) this.#note = `Only its first ${this.limits.entries} files were looked at.`;
    else if (performance.now() > this.#end)
      this.#note = `The search ended after ${Math.round(this.limits.milliseconds / 1000)} seconds; there may be more.`;
    return this.#note === null;
  }
}

export interface WalkedFile {
  readonly name: string;
  /** As it is reached, through a link or not. */
  readonly path: string;
  /** One text for each file on the disk, whatever its names. */
  readonly identity: string;
  readonly bytes: number;
  readonly changedAt: number;
}

export interface WalkedFolder {
  /** From the root, with "/" between; "" for the root itself. */
  readonly path: string;
  readonly absolute: string;
  readonly files: readonly WalkedFile[];
}

/** Never models: other programs' stores of pieces, and hidden folders. */
const SKIPPED = new Set(["blobs", "refs", "node_modules"]);

export const isInside = (root: string, path: string): boolean => path === root || path.startsWith(root + sep);

/** Facts of a file below `root`, which is a real path; undefined for anything else. */
export async function walkedFile(root: string, path: string, name: string): Promise<WalkedFile | undefined> {
  try {
    const real = await realpath(path);
    if (!isInside(root, real)) return undefined;
    const facts = await stat(real, { bigint: true });
    if (!facts.isFile()) return undefined;
    return {
      ...{ name, path },
      identity: `${facts.dev}:${facts.ino}`,
      bytes: Number(facts.size),
      changedAt: Number(facts.mtimeMs),
    };
  } catch {
    // It went meanwhile, its link leads nowhere, or it is not for us to read.
    return undefined;
  }
}

/** Folders below `root` that hold files which `wanted` names. */
export async function* walk(
  root: string,
  wanted: (name: string) => boolean,
  budget: Budget,
  signal: AbortSignal,
): AsyncGenerator<WalkedFolder> {
  let level = [""];
  for (let depth = 0; depth <= budget.limits.depth && level.length > 0; depth++) {
    const deeper: string[] = [];
    for (const folder of level) {
      throwIfCancelled(signal);
      const absolute = join(root, folder);
      const entries = await readdir(absolute, { withFileTypes: true }).catch(() => []);
      const files: WalkedFile[] = [];
      for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        if (!budget.take()) break;
        if (entry.name.startsWith(".")) continue;
        const below = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) {
          if (!SKIPPED.has(entry.name)) deeper.push(below);
        } else if (wanted(entry.name)) {
          const file = await walkedFile(root, join(absolute, entry.name), entry.name);
          if (file !== undefined) files.push(file);
        }
      }
      if (files.length > 0) yield { path: folder, absolute, files };
      if (budget.note !== null) return;
    }
    level = deeper;
  }
}
