/** Lays a model of another container out as a GGUF in a temporary place, for engines that map their files. */
import type { GgufFile } from "../../formats/gguf/file.ts";
import { contentsOf, writeGguf } from "../../formats/gguf/write.ts";
import type { ModelFiles } from "../services.ts";

export interface WrittenModel {
  readonly path: string;
  remove(): Promise<void>;
}
export type WriteModel = (file: GgufFile, signal: AbortSignal) => Promise<WrittenModel>;

export const writeMade =
  (files: Pick<ModelFiles, "create" | "temporary">): WriteModel =>
  async (file, signal) => {
    const place = await files.temporary("model.gguf");
    try {
      await writeGguf(await files.create(place.path), contentsOf(file), { signal });
      return place;
    } catch (error) {
      await place.remove();
      throw error;
    }
  };
