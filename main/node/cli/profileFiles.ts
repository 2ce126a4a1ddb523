/** Files of `rlx profile`: recordings that are read, recordings and traces that are written. No other file is overwritten. */
import { open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { MANIFEST_NAME, TRACE_START, traceArchive, traceText } from "../../contract/recordings/perfetto.ts";
import {
  LARGEST_RECORDING,
  readRecording,
  RECORDING_START,
  recordingText,
} from "../../contract/recordings/recordingFile.ts";
import type { ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";

/** The first bytes of a file, one character each; undefined where there is none, or a folder. */
async function startOf(path: string, length: number): Promise<string | undefined> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    if ((await file.stat()).isDirectory()) return undefined;
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** JSON: no model begins so. */
export const isRecording = async (path: string): Promise<boolean> => (await startOf(path, 1)) === "{";

export async function loadRecording(path: string): Promise<ProfileView> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFile() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] profile: got ${path}, expected a recording`, {
      hint: "rlx profile model.gguf --save yesterday.rlxtrace makes one.",
    });
  if (facts.size > LARGEST_RECORDING)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[recording] ${path}: got ${facts.size} bytes, expected at most ${LARGEST_RECORDING}`,
    );
  // A large model is not read to say that it is no recording.
  return readRecording(path, (await isRecording(path)) ? await readFile(path, "utf8") : "");
}

/** Whether a file may go there. Runs before the measurement, which may take long. */
async function checkPlace(option: string, what: string, path: string, starts: readonly string[]): Promise<void> {
  const folder = dirname(resolve(path));
  if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --${option}: the folder ${folder} does not exist`, {
      hint: "Create it first, or choose another.",
    });
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --${option}: got the folder ${path}, expected a file`);
  const there = await startOf(path, 64);
  if (there !== undefined && !starts.some((start) => there.includes(start)))
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --${option}: ${path} exists and is no ${what}`, {
      hint: `Choose another name. Only a ${what} is overwritten.`,
    });
}

/** An archive of ours names its manifest first. */
export const checkTrace = (option: string, path: string): Promise<void> =>
  checkPlace(option, "trace", path, [TRACE_START, MANIFEST_NAME]);
export const checkSave = (path: string): Promise<void> => checkPlace("save", "recording", path, [RECORDING_START]);

/** Removes what is written in part: it is of no use. */
async function write(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeFile(path, content);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

export const writeTrace = (path: string, profiles: readonly ProfileView[]): Promise<void> =>
  write(path, path.toLowerCase().endsWith(".zip") ? traceArchive(profiles) : traceText(profiles));
export const saveRecording = (path: string, profile: ProfileView): Promise<void> => write(path, recordingText(profile));
