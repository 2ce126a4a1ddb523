/** The session, and the graph that is open as text. */
import { sliceHook } from "../../session/context.tsx";
import type { TextSlice } from "./slice.ts";

export const useText = sliceHook<TextSlice>();
