/** Checkpoints as files. One is written beside its place and takes it at once: a process that is killed leaves the old or the new one. */
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { throwIfCancelled } from "../../diagnostics/errors.ts";
import { checkpointPieces, readCheckpoint } from "../../training/checkpoint.ts";
import type { Snapshot, TrainingSession } from "../../training/session.ts";
import { openFileSink, openFileSource } from "../files/fileByteSource.ts";

/** Nothing writes on a part for so long: the process that began it has died. */
const ABANDONED_MS = 10 * 60_000;

/** Everything that the session's next step depends on, as a safetensors file. An older checkpoint of this name is replaced. */
export async function saveCheckpoint(session: TrainingSession, path: string, signal?: AbortSignal): Promise<void> {
  await writeCheckpoint(await session.snapshot(), path, signal);
}

/** The session goes on from there with the same bits. It has to be made with the same weights, optimisers and precision. */
export async function loadCheckpoint(session: TrainingSession, path: string, signal?: AbortSignal): Promise<void> {
  await session.restore(await checkpointAt(path, signal));
}

export async function writeCheckpoint(snapshot: Snapshot, path: string, signal?: AbortSignal): Promise<void> {
  const full = resolve(path);
  await removeAbandoned(full);
  const sink = await openFileSink(full);
  try {
    for (const piece of checkpointPieces(snapshot)) {
      throwIfCancelled(signal);
      await sink.write(piece);
    }
    await sink.finish();
  } finally {
    await sink.abandon();
  }
}

export async function checkpointAt(path: string, signal?: AbortSignal): Promise<Snapshot> {
  const source = await openFileSource(resolve(path));
  try {
    return await readCheckpoint(source, signal);
  } finally {
    await source.close();
  }
}

/** Parts of this checkpoint that killed processes left. */
async function removeAbandoned(full: string): Promise<void> {
  const folder = dirname(full);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(`.${basename(full)}.`) || !name.endsWith(".part")) continue;
    const info = await lstat(join(folder, name)).catch(() => undefined);
    if (info !== undefined && info.mtimeMs < Date.now() - ABANDONED_MS) await rm(join(folder, name), { force: true });
  }
}
