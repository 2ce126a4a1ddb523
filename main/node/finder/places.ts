/**
 * Where programs of this machine keep their models, by their own documented rules:
 * LM Studio `~/.lmstudio/models` (before 0.3.6 `~/.cache/lm-studio/models`); Ollama OLLAMA_MODELS, else `~/.ollama/models`, as a
 * service of Linux `/usr/share/ollama/.ollama/models`; Hugging Face HF_HUB_CACHE (once HUGGINGFACE_HUB_CACHE), else `hub` in
 * HF_HOME, else in `~/.cache/huggingface`; llama.cpp LLAMA_CACHE, else its folder among the system's caches.
 */
import { isAbsolute, join } from "node:path";
import type { PlaceKind } from "../../contract/views/found.ts";
import type { Environment } from "../files/folders.ts";
import { userHome, xdgFolder } from "../files/folders.ts";

export interface Place {
  readonly kind: PlaceKind;
  readonly folder: string;
}

/** Only absolute paths count: nothing is looked for in the current folder by accident. */
const given = (environment: Environment, ...names: readonly string[]): string | undefined =>
  names.map((name) => environment[name]?.trim()).find((value) => value !== undefined && isAbsolute(value));

export function usualPlaces(environment: Environment, platform: NodeJS.Platform = process.platform): readonly Place[] {
  const home = userHome();
  const caches = platform === "darwin" ? join(home, ".cache") : xdgFolder("XDG_CACHE_HOME", ".cache", environment);
  const ollama = given(environment, "OLLAMA_MODELS");
  const hub =
    given(environment, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") ??
    join(given(environment, "HF_HOME") ?? join(given(environment, "XDG_CACHE_HOME") ?? caches, "huggingface"), "hub");
  const llama =
    given(environment, "LLAMA_CACHE") ??
    (platform === "darwin" ? join(home, "Library", "Caches", "llama.cpp") : join(caches, "llama.cpp"));
  return [
    { kind: "lm-studio", folder: join(home, ".lmstudio", "models") },
    { kind: "lm-studio", folder: join(home, ".cache", "lm-studio", "models") },
    ...(ollama === undefined
      ? [
          { kind: "ollama" as const, folder: join(home, ".ollama", "models") },
          ...(platform === "linux" ? [{ kind: "ollama" as const, folder: "/usr/share/ollama/.ollama/models" }] : []),
        ]
      : [{ kind: "ollama" as const, folder: ollama }]),
    { kind: "hugging-face", folder: hub },
    { kind: "llama-cpp", folder: llama },
  ];
}
