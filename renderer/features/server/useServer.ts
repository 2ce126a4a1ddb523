/** The session and the server tab's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { ServerSlice } from "./slice.ts";

export const useServer = sliceHook<ServerSlice>();
