/** What a person sets once, for all windows and commands of this machine: kept in one file in the data folder. */
import { z } from "zod";
import { RUNTIMES } from "./graph.ts";
import type { View } from "../define.ts";

const path = z.string().min(1).max(4096);
export const MOST_FOLDERS = 32;

export const APPEARANCES = ["auto", "light", "dark"] as const;
/** What a window begins with: the fastest device here, or always the same runtime. */
export const FIRST_SUBJECTS = ["advise", RUNTIMES.coreml, RUNTIMES.mlx, RUNTIMES.cpu] as const;
export type FirstSubject = (typeof FIRST_SUBJECTS)[number];

export const preferences = z.object({
  /** null: each window as it was left. */
  appearance: z.enum(APPEARANCES).nullable().default(null),
  firstSubject: z.enum(FIRST_SUBJECTS).default("advise"),
  /** Bytes that conversations of open models may take together; null: as much as is free. */
  memoryLimit: z.number().int().min(64e6).max(Number.MAX_SAFE_INTEGER).nullable().default(null),
  /** When long work has ended and the window is not in front. */
  notifications: z.boolean().default(true),
  /** Look where LM Studio, Ollama, Hugging Face and llama.cpp keep their models. */
  findModels: z.boolean().default(true),
  /** Folders with models, absolute. */
  modelFolders: z.array(path).max(MOST_FOLDERS).default([]),
  /** Where recents, sessions and histories are kept, from the next start on; null: the usual place. */
  dataFolder: path.nullable().default(null),
});
export type Preferences = View<typeof preferences>;

export const INITIAL_PREFERENCES: Preferences = preferences.parse({});

export const preferencesChange = z
  .object({
    appearance: z.enum(APPEARANCES).nullable(),
    firstSubject: z.enum(FIRST_SUBJECTS),
    memoryLimit: z.number().int().min(64e6).max(Number.MAX_SAFE_INTEGER).nullable(),
    notifications: z.boolean(),
    findModels: z.boolean(),
    dataFolder: path.nullable(),
  })
  .partial();
export type PreferencesChange = View<typeof preferencesChange>;

export const preferencesView = z.object({
  preferences,
  /** Where they are kept. */
  file: z.string(),
  /** The data folder that is in use, and by what. */
  dataFolder: z.string(),
  dataFolderBy: z.enum(["RLX_HOME", "settings", "usual"]),
  /** A file that could not be read was moved aside: why. */
  problem: z.string().nullable(),
});
export type PreferencesView = View<typeof preferencesView>;
