/**
 * Ollama's store: a manifest for each name, JSON that names the layers by their digests, and blobs that are the layers. Manifests
 * come from the network, so a name or digest of any other form than Ollama's is refused.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Json } from "../../formats/json.ts";
import type { Budget, WalkedFile } from "./walk.ts";
import { walk, walkedFile } from "./walk.ts";

const MODEL_LAYER = "application/vnd.ollama.image.model";
const MOST_MANIFEST_BYTES = 1 << 20;
const MOST_LAYERS = 64;

export interface OllamaModel {
  readonly name: string;
  readonly blob: WalkedFile;
}

/** "llama3.2:1b", as Ollama shows it: its own registry and library go without saying. */
export function ollamaName(path: string): string | undefined {
  const parts = path.split("/");
  const [host = "", user = "", model = "", tag = ""] = parts;
  if (parts.length !== 4 || parts.some((part) => !/^[\w][\w.-]{0,127}$/u.test(part))) return undefined;
  const owner = host === "registry.ollama.ai" ? (user === "library" ? "" : `${user}/`) : `${host}/${user}/`;
  return `${owner}${model}:${tag}`;
}

/** The digest of its model layer, as blobs are named. */
export function modelBlob(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const layer of new Json(value).list("layers").slice(0, MOST_LAYERS)) {
    const { value: fields } = new Json(layer);
    const { mediaType, digest } = fields;
    if (mediaType !== MODEL_LAYER || typeof digest !== "string") continue;
    const [, hash] = /^sha256:([0-9a-f]{64})$/u.exec(digest) ?? [];
    return hash === undefined ? undefined : `sha256-${hash}`;
  }
  return undefined;
}

/** `root`: a real path. */
export async function* ollamaModels(root: string, budget: Budget, signal: AbortSignal): AsyncGenerator<OllamaModel> {
  for await (const folder of walk(join(root, "manifests"), () => true, budget, signal))
    for (const file of folder.files) {
      const name = ollamaName(`${folder.path}/${file.name}`);
      if (name === undefined || file.bytes > MOST_MANIFEST_BYTES) continue;
      const blob = modelBlob(await readFile(file.path, "utf8").catch(() => ""));
      if (blob === undefined) continue;
      // A blob that is not there, or lies behind a link out of the store, is no model here.
      const found = await walkedFile(root, join(root, "blobs", blob), blob);
      if (found !== undefined) yield { name, blob: found };
    }
}
