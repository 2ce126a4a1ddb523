/** The session, the slice of the Compare tab, and what other features keep of runs and benchmarks. */
import type { SessionRow } from "../../../main/contract/views/session.ts";
import type { Async } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import type { KeptBench, KeptRun } from "./sides.ts";
import type { CompareSlice } from "./slice.ts";

interface Kept {
  readonly runHistory: readonly KeptRun[];
  readonly benchResults: readonly KeptBench[];
  readonly sessions: Async<readonly SessionRow[]>;
  readonly loadSessions: () => Promise<void>;
}

export const useCompare = sliceHook<CompareSlice & Kept>();
