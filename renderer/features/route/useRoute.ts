/** The session and the routing view's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { RouteSlice } from "./slice.ts";

export const useRoute = sliceHook<RouteSlice>();
