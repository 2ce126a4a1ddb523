/** The session and the bench tab's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { BenchSlice } from "./slice.ts";

export const useBench = sliceHook<BenchSlice>();
export const TEST_NAMES = { pp: "Prefill", tg: "Decode" } as const;
