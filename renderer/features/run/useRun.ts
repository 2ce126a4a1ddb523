/** The session and the run tab's slices. */
import type { StoreApi } from "zustand";
import { sliceHook, useStoreApi } from "../../session/context.tsx";
import type { RunSlice, RunState } from "./slice.ts";

export const useRun = sliceHook<RunSlice>();
export const useRunApi = (): StoreApi<RunState> => useStoreApi<RunState>();
