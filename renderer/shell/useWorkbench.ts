/** The whole store: only the shell, which composes the features, sees it. */
import type { StoreApi } from "zustand";
import { sliceHook, useStoreApi } from "../session/context.tsx";
import type { WorkbenchState } from "./store.ts";

export const useWorkbench = sliceHook<WorkbenchState>();
export const useWorkbenchApi = (): StoreApi<WorkbenchState> => useStoreApi<WorkbenchState>();
