/** What the engine keeps on disk, emptied. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { EngineDevices } from "../devices.ts";
import type { FolderFacts, KeptFolder } from "../services.ts";

export interface CacheParts {
  readonly devices: EngineDevices;
  /** The compile cache; undefined when it is switched off. */
  readonly plans: KeptFolder | undefined;
}

const removed = ({ folder, entries, bytes }: FolderFacts): Omit<FolderFacts, "limit"> => ({ folder, entries, bytes });

export function cacheHandlers({ devices, plans }: CacheParts): Pick<EngineHandlers["calls"], "cache.clear"> {
  return {
    "cache.clear": async () => {
      const cleared = await plans?.clear();
      const models = devices.listed.map((device) => device.models).find((each) => each !== undefined);
      const compiled = await models?.clear();
      return {
        plans: cleared === undefined ? null : removed(cleared),
        models: compiled === undefined ? null : removed(compiled),
        left: ((await plans?.facts())?.entries ?? 0) + ((await models?.facts())?.entries ?? 0),
        inUse: (await models?.usedByOthers()) ?? 0,
      };
    },
  };
}
