/**
 * What a person sets, in one file of the usual data folder: written whole, checked when it is read, watched for other processes. A
 * file that cannot be read is moved aside and said, never overwritten.
 */
import type { FSWatcher } from "node:fs";
import { readFileSync, watch } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import type { Preferences, PreferencesView } from "../../contract/views/preferences.ts";
import { INITIAL_PREFERENCES, preferences } from "../../contract/views/preferences.ts";
import type { PreferenceStore } from "../../engine/services.ts";
import { makeFolder } from "./makeFolder.ts";
import { oneAtATime, writeAtomically } from "./smallFile.ts";

export const PREFERENCES_FILE = "settings.json";
const schema = preferences.extend({ version: z.literal(1) });

function parsed(text: string): Preferences | string {
  try {
    const read = schema.safeParse(JSON.parse(text));
    if (!read.success) {
      const [issue] = read.error.issues;
      return `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "not what settings hold"}`;
    }
    const { version: _version, ...kept } = read.data;
    return { ...kept, modelFolders: [...new Set(kept.modelFolders.filter((folder) => isAbsolute(folder)))] };
  } catch {
    return "it is no JSON";
  }
}

/** The data folder that its settings name, for the start of an engine. A file that cannot be read names none. */
export function namedDataFolder(folder: string): string | null {
  try {
    const read = parsed(readFileSync(join(folder, PREFERENCES_FILE), "utf8"));
    return typeof read !== "string" && read.dataFolder !== null && isAbsolute(read.dataFolder) ? read.dataFolder : null;
  } catch {
    return null;
  }
}

/** Without what was not said. */
const given = (change: object): object =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

export interface PreferencePlace {
  /** The usual data folder, in which the file lies. */
  readonly folder: string;
  /** The data folder in use. */
  readonly dataFolder: string;
  readonly dataFolderBy: PreferencesView["dataFolderBy"];
}

export function createPreferences({ folder, dataFolder, dataFolderBy }: PreferencePlace): PreferenceStore {
  const file = join(folder, PREFERENCES_FILE);
  const listeners = new Set<(view: PreferencesView) => void>();
  let problem: string | null = null;
  let watcher: FSWatcher | undefined;
  let told = "";
  const serially = oneAtATime();
  const read = async (): Promise<Preferences> => {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return INITIAL_PREFERENCES;
    const kept = parsed(text);
    if (typeof kept !== "string") return kept;
    const aside = `${file}.unreadable`;
    await rename(file, aside).catch(() => undefined);
    problem = `The settings could not be read (${kept}). They are in ${aside} now, and everything is as at first.`;
    return INITIAL_PREFERENCES;
  };
  const viewOf = (now: Preferences): PreferencesView => ({ preferences: now, file, dataFolder, dataFolderBy, problem });
  const tell = (view: PreferencesView): void => {
    const text = JSON.stringify(view.preferences);
    if (text === told) return;
    told = text;
    for (const listener of [...listeners]) listener(view);
  };
  const watchFile = async (): Promise<void> => {
    await makeFolder(folder).catch(() => undefined);
    if (watcher !== undefined || listeners.size === 0) return;
    try {
      // The folder, because the file is replaced with each write.
      watcher = watch(folder, { persistent: false }, (_kind, name) => {
        if (name === PREFERENCES_FILE) void serially(async () => tell(viewOf(await read())));
      });
      watcher.on("error", () => watcher?.close());
    } catch {
      // Where the system cannot watch it, changes of other processes are seen with the next question.
    }
  };
  return {
    get: () => serially(async () => viewOf(await read())),
    set: (change) =>
      serially(async () => {
        const now = preferences.parse({ ...(await read()), ...given(change) });
        await writeAtomically(file, `${JSON.stringify({ version: 1, ...now }, undefined, 1)}\n`);
        problem = null;
        const view = viewOf(now);
        tell(view);
        return view;
      }),
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1)
        void serially(async () => {
          told = JSON.stringify(await read());
          await watchFile();
        });
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        watcher?.close();
        watcher = undefined;
      };
    },
  };
}
