/** The session, the slice of the Compare tab, and what other features keep of runs and benchmarks. */
import type { FoundList } from "../../../main/contract/views/found.ts";
import type { SessionRow } from "../../../main/contract/views/session.ts";
import type { Async } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import type { KeptBench, KeptRun } from "./sides.ts";
import type { CompareSlice } from "./slice.ts";

interface Kept {
  readonly runHistory: readonly KeptRun[];
  readonly benchResults: readonly KeptBench[];
  readonly sessions: Async<readonly SessionRow[]>;
  /** Models that lie on the engine's machine. */
  readonly found: Async<FoundList>;
  /** Until the returned way to stop is taken. */
  readonly watchFound: () => () => void;
  readonly loadSessions: () => Promise<void>;
}

export const useCompare = sliceHook<CompareSlice & Kept>();
