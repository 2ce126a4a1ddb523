/**
 * What commands that write a model need besides the model, in the engine and in the library: names
 * and places of new files, and an importance matrix.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSink } from "../../formats/byteSink.ts";
import type { ConvertPlan } from "../../formats/gguf/convert.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Importance } from "../../quantize/importance.ts";
import { readImportance } from "../../quantize/importance.ts";
import type { ModelFiles } from "../services.ts";

export interface NewFile {
  /** Absolute. */
  readonly path: string;
  readonly sink: ByteSink;
}

export interface NewFileChoice {
  readonly overwrite: boolean;
  /** The files that the model is read from: it is not written over them. */
  readonly own: readonly string[];
}

type Files = Pick<ModelFiles, "absolute" | "create">;

export async function newFile(files: Files, path: string, { overwrite, own }: NewFileChoice): Promise<NewFile> {
  const place = files.absolute(path);
  if (!own.includes(place)) return files.create(place, overwrite);
  throw new WorkbenchError("INPUT_ARGUMENT", `[gguf] ${place} is the file that is read, expected another`, {
    hint: "Choose another name.",
  });
}

/** All files are begun, or none. */
export async function newFiles(
  files: Files,
  paths: readonly string[],
  choice: NewFileChoice,
): Promise<readonly NewFile[]> {
  const begun: NewFile[] = [];
  try {
    for (const path of paths) begun.push(await newFile(files, path, choice));
    return begun;
  } catch (error) {
    await Promise.all(begun.map(({ sink }) => sink.abandon()));
    throw error;
  }
}

/** Where the parts of a conversion go: their numbers stand before the ending. */
export const partPaths = (path: string, { parts }: ConvertPlan): readonly string[] =>
  parts.map(({ suffix }) => path.replace(/(\.gguf)$/u, `${suffix}$1`));

/** What results are called after: the file's name without its ending, and without the number of a part. */
export const stemOf = ({ name }: GgufFile): string =>
  name.replace(/(-\d{5}-of-\d{5})?\.(gguf|safetensors|json)$/iu, "");

export async function importanceAt(files: Pick<ModelFiles, "open">, path: string): Promise<Importance> {
  const { source } = await files.open(path);
  try {
    return await readImportance(source);
  } finally {
    await source.close();
  }
}
