/** The session and the run tab's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { PairSlice } from "./pairSlice.ts";
import type { RunSlice } from "./slice.ts";

export const useRun = sliceHook<RunSlice & PairSlice>();
