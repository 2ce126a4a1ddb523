/** Files of graphs in text: read whole, and written back whole, not over what another program has written meanwhile. */
import type { View } from "../../contract/define.ts";
import type { saveTextInput, TextFile } from "../../contract/views/text.ts";
import { LONGEST_TEXT } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../../formats/byteSource.ts";
import { hashText } from "../../ir/hash.ts";
import type { ModelFiles } from "../services.ts";
import { isTextName, TEXT_ENDING } from "./subject.ts";

/** Closes the source. */
export async function readTextFile(source: ByteSource, signal?: AbortSignal): Promise<string> {
  try {
    if (source.byteLength > LONGEST_TEXT)
      throw new WorkbenchError(
        "INPUT_LIMIT",
        `[${source.name}] got ${source.byteLength} bytes, expected a text of ${LONGEST_TEXT} at most`,
        { hint: "Write constants by their hash, or as parameters in memory." },
      );
    return new TextDecoder().decode(await source.read(0, source.byteLength, signal));
  } finally {
    await source.close();
  }
}

/** What the file says now; undefined where there is none. */
async function hashAt(files: Pick<ModelFiles, "open">, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { source } = await files.open(path);
    return hashText(await readTextFile(source, signal));
  } catch (error) {
    if (error instanceof WorkbenchError && error.code === "INPUT_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Whole or not at all. A file that says something else than `was` is written over only where that is asked for. */
export async function saveText(
  files: Pick<ModelFiles, "open" | "create">,
  { path, text, was, overwrite }: View<typeof saveTextInput>,
  signal: AbortSignal,
): Promise<TextFile> {
  if (!isTextName(path))
    throw new WorkbenchError("INPUT_ARGUMENT", `[text] ${path}: expected a name that ends in ${TEXT_ENDING}`, {
      hint: "Graphs in text are known by that ending.",
    });
  const there = overwrite ? undefined : await hashAt(files, path, signal);
  if (there !== undefined && there !== was)
    throw new WorkbenchError("INPUT_ARGUMENT", `[text] ${path} was changed by another program, or is another file`, {
      hint: "Read it again, or write over it.",
      details: { exists: true },
    });
  // What is there is known by now: it is what was read, or may go.
  const { path: full, sink } = await files.create(path, true, TEXT_ENDING);
  try {
    await sink.write(new TextEncoder().encode(text));
    await sink.finish();
  } catch (error) {
    await sink.abandon();
    throw error;
  }
  return { path: full, hash: hashText(text) };
}
