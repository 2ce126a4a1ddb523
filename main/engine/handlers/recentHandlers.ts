/** Files that were opened, with the speed that was measured of each last. */
import type { EngineHandlers } from "../../contract/contract.ts";
import { benchRecord } from "../../contract/views/bench.ts";
import type { Recent } from "../../contract/views/model.ts";
import type { HistoryEntry } from "../../contract/views/session.ts";
import { BENCH_HISTORY } from "../../contract/views/session.ts";
import type { EngineServices } from "../services.ts";

/** Benchmarks that are looked through, the newest. */
const MOST_LINES = 500;

export function recentHandlers({
  recents,
  histories,
}: Pick<EngineServices, "recents" | "histories">): Pick<
  EngineHandlers["calls"],
  "recents.list" | "recents.add" | "recents.remove"
> {
  return {
    "recents.list": async () => {
      const kept = await recents.list();
      const { entries } = kept.some(({ identity }) => identity !== null)
        ? await histories.list(BENCH_HISTORY, { limit: MOST_LINES, identity: null })
        : { entries: [] };
      return {
        recents: kept.map(({ identity, ...recent }) => ({ ...recent, speed: speedOf(identity, entries) })),
      };
    },
    "recents.add": async ({ path }) => {
      await recents.add(path);
      return { ok: true };
    },
    "recents.remove": async ({ path }) => {
      await recents.remove(path);
      return { ok: true };
    },
  };
}

/** Generated tokens per second of the newest benchmark of this model that measured them; `entries` are newest first. */
export function speedOf(identity: string | null, entries: readonly HistoryEntry[]): Recent["speed"] {
  if (identity === null) return null;
  for (const { at, model, value } of entries) {
    if (model.identity !== identity) continue;
    const record = benchRecord.safeParse(value);
    if (!record.success) continue;
    const { subjects, tests } = record.data;
    const generated = tests.filter(({ test, subject }) => test === "tg" && subjects[subject] !== undefined);
    const best = generated.toSorted((a, b) => a.depth - b.depth || b.rate.value - a.rate.value)[0];
    const device = best === undefined ? undefined : subjects[best.subject]?.device;
    if (best !== undefined && device !== undefined) return { rate: best.rate.value, device, at };
  }
  return null;
}
