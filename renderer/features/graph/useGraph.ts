/** The session and the graph's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { GraphSlice } from "./graphState.ts";

export const useGraph = sliceHook<GraphSlice>();
