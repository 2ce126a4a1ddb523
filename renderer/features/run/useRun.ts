/** The session and the run tab's slices. */
import { sliceHook } from "../../session/context.tsx";
import type { RunSlice } from "./slice.ts";

export const useRun = sliceHook<RunSlice>();
