/** `--prompt-cache`: a run begins with what a file holds, and leaves there what its session holds at the end. */
import { existsSync } from "node:fs";
import type { PromptCacheView } from "../../contract/views/promptCache.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command } from "./client.ts";
import { harmless } from "./output.ts";
import type { RunInput } from "./run.ts";

export interface PromptCacheOptions {
  readonly promptCache?: string;
  readonly promptCacheRo?: boolean;
}

/** Before the first prompt. A file that is not there yet is written at the end. */
export async function loadPromptCache(
  command: Command,
  input: RunInput,
  { promptCache: path, promptCacheRo: isReadOnly = false }: PromptCacheOptions,
): Promise<PromptCacheView | null> {
  if (path === undefined) {
    if (!isReadOnly) return null;
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --prompt-cache-ro: got it alone, expected --prompt-cache", {
      hint: "Name the file: --prompt-cache talk.rlxcache --prompt-cache-ro.",
    });
  }
  if (path === "") throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --prompt-cache: got nothing, expected a file");
  if (!existsSync(path)) {
    if (!isReadOnly) return null;
    throw new WorkbenchError("INPUT_NOT_FOUND", `[prompt cache] there is no file ${harmless(path)}`, {
      hint: "Leave out --prompt-cache-ro to write it.",
    });
  }
  const loaded = await command.client.call("prompt.load", which(input, path), { signal: command.signal });
  command.output.note(`Prompt cache: ${loaded.sentence}`);
  return loaded;
}

/** When the last answer is there. */
export async function savePromptCache(
  command: Command,
  input: RunInput,
  { promptCache: path, promptCacheRo: isReadOnly = false }: PromptCacheOptions,
): Promise<PromptCacheView | null> {
  if (path === undefined || isReadOnly) return null;
  const request = { ...which(input, path), overwrite: true };
  const saved = await command.client.call("prompt.save", request, { signal: command.signal });
  command.output.note(`Prompt cache: ${saved.sentence}`);
  return saved;
}

/** The session that the run takes. */
const which = (
  { model, device, context, threads, precision, cacheType }: RunInput,
  path: string,
): Pick<RunInput, "model" | "device" | "context" | "threads" | "precision" | "cacheType"> & {
  readonly path: string;
} => ({
  ...{ model, path },
  ...(device === undefined ? {} : { device }),
  ...(context === undefined ? {} : { context }),
  ...(threads === undefined ? {} : { threads }),
  ...(precision === undefined ? {} : { precision }),
  ...(cacheType === undefined ? {} : { cacheType }),
});
