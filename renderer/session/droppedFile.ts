/**
 * A dropped file without a path (in a browser). The engine asks for the ranges of its header. The
 * whole file is sent only on request, if the engine did not find it on its own disk.
 */
import type { EngineClient } from "../../main/contract/contract.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";

async function readRange(file: File, offset: number, length: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
  } catch (cause) {
    throw new WorkbenchError("INPUT_UNREADABLE", `[file] ${file.name} cannot be read`, {
      hint: "It may have been moved, or it is a folder: drop a .gguf file.",
      cause,
    });
  }
}

export const folderError = (name: string): WorkbenchError =>
  new WorkbenchError("INPUT_UNREADABLE", `[file] ${name} is a folder, expected a .gguf file`, {
    hint: "Drop the .gguf file in it (of a split model its first part), or open the folder of a Hugging Face model by its path.",
  });

export async function feedHeader(engine: EngineClient, file: File): Promise<string> {
  let need = await engine.call("header.begin", { name: file.name, size: file.size });
  while (need.kind === "more") {
    const bytes = await readRange(file, need.offset, need.length);
    need = await engine.call("header.feed", { header: need.header, offset: need.offset, bytes });
  }
  return need.header;
}

export async function uploadFile(
  engine: EngineClient,
  file: File,
  signal: AbortSignal,
  onProgress: (doneBytes: number) => void,
): Promise<string> {
  const { upload, chunkBytes } = await engine.call("upload.begin", { name: file.name, size: file.size });
  try {
    for (let offset = 0; offset < file.size; offset += chunkBytes) {
      if (signal.aborted) throw new WorkbenchError("CANCELLED", "[upload] cancelled");
      const bytes = await readRange(file, offset, chunkBytes);
      await engine.call("upload.chunk", { upload, offset, bytes }, { signal });
      onProgress(Math.min(file.size, offset + chunkBytes));
    }
    await engine.call("upload.finish", { upload });
    return upload;
  } catch (error) {
    // Remove the incomplete upload; after a lost engine, the next one removes it.
    await engine.call("upload.cancel", { upload }).catch(() => undefined);
    throw error;
  }
}
