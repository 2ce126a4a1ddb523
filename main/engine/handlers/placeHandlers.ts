/** What is set once for this machine, and the models that are found on it. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { FoundList } from "../../contract/views/found.ts";
import { MOST_FOLDERS } from "../../contract/views/preferences.ts";
import type { Preferences } from "../../contract/views/preferences.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { EngineServices } from "../services.ts";

type PlaceCalls = "preferences.get" | "preferences.set" | "models.addFolder" | "models.removeFolder" | "models.look";

export interface PlaceHandlers {
  readonly calls: Pick<EngineHandlers["calls"], PlaceCalls>;
  readonly streams: Pick<EngineHandlers["streams"], "models.find">;
}

/** What a search depends on. */
const searched = ({ modelFolders, findModels }: Preferences): string => JSON.stringify([modelFolders, findModels]);

export function placeHandlers({ preferences, finder }: Pick<EngineServices, "preferences" | "finder">): PlaceHandlers {
  return {
    calls: {
      "preferences.get": () => preferences.get(),
      "preferences.set": (change) => preferences.set(change),
      async "models.addFolder"({ path }) {
        const folder = await finder.folder(path);
        const { modelFolders } = (await preferences.get()).preferences;
        if (modelFolders.includes(folder)) return preferences.get();
        if (modelFolders.length >= MOST_FOLDERS)
          throw new WorkbenchError(
            "INPUT_LIMIT",
            `[models] got ${modelFolders.length + 1} folders, expected ${MOST_FOLDERS} at most`,
            { hint: "Remove one, or name a folder that holds several." },
          );
        return preferences.set({ modelFolders: [...modelFolders, folder] });
      },
      async "models.removeFolder"({ path }) {
        const { modelFolders } = (await preferences.get()).preferences;
        // One that is gone from the disk can be removed, too.
        const folder = modelFolders.includes(path) ? path : await finder.folder(path).catch(() => path);
        if (!modelFolders.includes(folder))
          throw new WorkbenchError("INPUT_ARGUMENT", `[models] ${folder} is none of the folders that are looked in`, {
            hint: "rlx models lists them.",
          });
        return preferences.set({ modelFolders: modelFolders.filter((each) => each !== folder) });
      },
      "models.look": ({ path }, { signal }) => finder.look(path, signal),
    },
    streams: {
      async *"models.find"({ watch }, { signal }): AsyncGenerator<FoundList> {
        let wasComplete = false;
        // Another search for each change of the folders.
        while (!signal.aborted) {
          const { preferences: now } = await preferences.get();
          const search = new AbortController();
          const end = (): void => search.abort();
          signal.addEventListener("abort", end);
          if (signal.aborted) end();
          const stop = preferences.onChange((view) => {
            if (searched(view.preferences) !== searched(now)) end();
          });
          try {
            const asked = { folders: now.modelFolders, usual: now.findModels, watch, signal: search.signal };
            for await (const list of finder.find(asked)) {
              // A list that is known stays until the next is whole.
              if (list.complete || !wasComplete) yield list;
              wasComplete ||= list.complete;
            }
          } catch (error) {
            if (!search.signal.aborted || signal.aborted) throw error;
          } finally {
            stop();
            signal.removeEventListener("abort", end);
          }
          if (!watch) return;
        }
      },
    },
  };
}
