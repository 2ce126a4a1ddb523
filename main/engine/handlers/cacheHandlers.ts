/** What the engine keeps on disk, emptied. */
import type { EngineHandlers } from "../../contract/contract.ts";

interface Facts {
  readonly folder: string;
  readonly entries: number;
  readonly bytes: number;
}

/** A folder of things that can be made again. */
export interface Clearable {
  facts(): Promise<Facts>;
  /** Removes every entry; answers what was really removed. */
  clear(): Promise<Facts>;
}

export interface CacheParts {
  /** The compile cache; undefined when it is switched off. */
  readonly plans: Clearable | undefined;
  readonly models: Clearable & { usedByOthers(): Promise<number> };
}

const factsOf = ({ folder, entries, bytes }: Facts): Facts => ({ folder, entries, bytes });

export function cacheHandlers({ plans, models }: CacheParts): Pick<EngineHandlers["calls"], "cache.clear"> {
  return {
    "cache.clear": async () => {
      const removed = await plans?.clear();
      const coreml = await models.clear();
      return {
        plans: removed === undefined ? null : factsOf(removed),
        coreml: factsOf(coreml),
        left: ((await plans?.facts())?.entries ?? 0) + (await models.facts()).entries,
        inUse: await models.usedByOthers(),
      };
    },
  };
}
