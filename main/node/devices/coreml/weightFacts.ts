/**
 * Facts that identify a model's weights in the key of a compiled model. Size and header do not suffice:
 * retrained weights keep both.
 */
import { stat } from "node:fs/promises";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { hashOfRanges, sampledRanges } from "../../../formats/gguf/samples.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import { requirePaths } from "../../../engine/models/openModel.ts";

/** Size and header, a hash of samples of every tensor, and of each part its file and when that was written last. */
export async function weightFacts(model: OpenModel, signal: AbortSignal): Promise<readonly string[]> {
  const file = model.requireFile("run");
  const paths = requirePaths(model, "run");
  const samples = await hashOfRanges(file, sampledRanges(file.tensors), signal);
  const written = await Promise.all(
    paths.map(async (path) => {
      const facts = await stat(path, { bigint: true }).catch((cause: unknown) => {
        throw new WorkbenchError("INPUT_NOT_FOUND", `[${file.name}] the file is no longer where it was opened`, {
          hint: "Open it again from where it is now.",
          details: { path },
          cause,
        });
      });
      return `${facts.ino}:${facts.mtimeNs}`;
    }),
  );
  return [file.identity, samples, ...written];
}
