/** Lays a model of another container out as a GGUF in a temporary place, for engines that map their files. */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { contentsOf, encodeHeader, writeGguf } from "../../formats/gguf/write.ts";
import type { ModelFiles } from "../services.ts";

export interface WrittenModel {
  readonly path: string;
  remove(): Promise<void>;
}
export type WriteModel = (file: GgufFile, signal: AbortSignal) => Promise<WrittenModel>;

const compareBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);

export const writeMade =
  (files: Pick<ModelFiles, "create" | "temporary">): WriteModel =>
  async (file, signal) => {
    if (file.parts.length > 1)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[${file.name}] ${file.made?.from ?? ""}: got ${file.parts.length} parts, expected one`,
        {
          hint: "Engines map their files: write the model as one GGUF first, with `rlx convert`.",
        },
      );
    const place = await files.temporary("model.gguf");
    try {
      const contents = contentsOf(file);
      // Engines are told the places of the file that was opened.
      const same = compareBytes(encodeHeader(contents).bytes, file.headerBytes());
      invariant(file.parts.length === 1 && same, `what is written of ${file.name} has another header`);
      const { sink } = await files.create(place.path, false);
      await writeGguf(sink, contents, { signal });
      return place;
    } catch (error) {
      await place.remove();
      throw error;
    }
  };
