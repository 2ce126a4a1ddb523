/** Records of training runs in a folder, and the files that a training reads and writes. What lies there is untrusted. */
import { lstat, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { runId } from "../../contract/views/train.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { TrainingFiles, TrainingRuns } from "../../engine/services.ts";
import { openFileSink } from "./fileByteSource.ts";
import { oneAtATimeOfEach, writeAtomically } from "./smallFile.ts";

/** Runs that are kept; of more, the oldest go. */
const MOST_RUNS = 500;
const ENDING = ".json";
const LARGEST_RECORD = 16 << 20;

export function createTrainingRuns(dataFolder: string, most = MOST_RUNS): TrainingRuns {
  const folder = join(dataFolder, "training");
  const pathOf = (run: string): string => join(folder, runId.parse(run) + ENDING);
  /** A run is saved as it goes on and at its end, and nothing waits for the former: the last one stays. */
  const serially = oneAtATimeOfEach();
  const list = async (): Promise<readonly string[]> => {
    const names = await readdir(folder).catch((): string[] => []);
    const found = await Promise.all(
      names.map(async (name) => {
        const run = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : "";
        if (!runId.safeParse(run).success) return undefined;
        const info = await lstat(join(folder, name)).catch(() => undefined);
        return info?.isFile() === true ? { run, at: info.mtimeMs } : undefined;
      }),
    );
    return found
      .filter((each) => each !== undefined)
      .sort((a, b) => b.at - a.at)
      .map(({ run }) => run);
  };
  return {
    list,
    async load(run) {
      const info = await lstat(pathOf(run)).catch(() => undefined);
      if (info?.isFile() !== true)
        throw new WorkbenchError("INPUT_NOT_FOUND", `[train] there is no run ${JSON.stringify(run)}`, {
          hint: "rlx train --runs shows those that are kept.",
        });
      if (info.size > LARGEST_RECORD)
        throw new WorkbenchError("INPUT_LIMIT", `[train] ${run}: got ${info.size} bytes, which no record has`, {
          hint: "Remove it.",
        });
      return readFile(pathOf(run), "utf8");
    },
    save: (run, text) =>
      serially(run, async () => {
        const isNew = (await lstat(pathOf(run)).catch(() => undefined)) === undefined;
        await writeAtomically(pathOf(run), text);
        if (isNew) for (const old of (await list()).slice(most)) await rm(pathOf(old), { force: true });
      }),
    remove: (run) => serially(run, () => rm(pathOf(run), { force: true })),
  };
}

const inflateWithin = promisify<Uint8Array, { readonly maxOutputLength: number }, Uint8Array>(inflateRaw);

export const trainingFiles: TrainingFiles = {
  async place(path, { ending, overwrite }) {
    const full = resolve(path);
    if (extname(full) !== `.${ending}`)
      throw new WorkbenchError("INPUT_ARGUMENT", `[train] ${full}: expected a name that ends in .${ending}`);
    const folder = await stat(dirname(full)).catch(() => undefined);
    if (folder?.isDirectory() !== true)
      throw new WorkbenchError("INPUT_ARGUMENT", `[train] the folder ${dirname(full)} does not exist`, {
        hint: "Create it first, or choose another.",
      });
    const there = await stat(full).catch(() => undefined);
    if (there?.isDirectory() === true)
      throw new WorkbenchError("INPUT_ARGUMENT", `[train] ${full} is a folder, expected a name for a file`, {
        hint: "Choose another name.",
      });
    if (there !== undefined && !overwrite)
      throw new WorkbenchError("INPUT_ARGUMENT", `[train] ${full} exists already`, {
        hint: "Choose another name, or overwrite it (--overwrite).",
        details: { exists: true },
      });
    return full;
  },
  async write(path, pieces, signal) {
    const sink = await openFileSink(path);
    try {
      for (const piece of pieces) {
        throwIfCancelled(signal);
        await sink.write(piece);
      }
      await sink.finish();
    } finally {
      await sink.abandon();
    }
  },
  sink: openFileSink,
  // One byte at least: a limit of none is not known to the unpacker.
  inflate: (bytes, most) => inflateWithin(bytes, { maxOutputLength: Math.max(1, most) }),
};
