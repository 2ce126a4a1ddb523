/** Two files that are measured against each other: what can be chosen, and which two are. */
import type { FoundModel } from "../../../main/contract/views/found.ts";
import type { Recent } from "../../../main/contract/views/model.ts";

export interface PairFile {
  readonly path: string;
  readonly name: string;
  readonly variant: string | null;
  readonly bytes: number;
}

type Opened = PairFile & Pick<Recent, "exists">;
type Lying = PairFile & Pick<FoundModel, "problem">;

/** Each file once: those that were open before first, newest first, then what else lies on this machine. */
export function pairFiles(recents: readonly Opened[], found: readonly Lying[]): readonly PairFile[] {
  const files = new Map<string, PairFile>();
  const usable = [...recents.filter(({ exists }) => exists), ...found.filter(({ problem }) => problem === null)];
  for (const { path, name, variant, bytes } of usable)
    if (!files.has(path)) files.set(path, { path, name, variant, bytes });
  return [...files.values()];
}

/** Ticks a file or takes its tick away; a third one takes the place of the second. */
export const pairOf = (chosen: readonly string[], path: string): readonly string[] =>
  chosen.includes(path) ? chosen.filter((each) => each !== path) : [...chosen.slice(0, 1), path];
