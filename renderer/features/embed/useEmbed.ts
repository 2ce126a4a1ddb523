/** The session and the embed tab's slice. */
import { sliceHook } from "../../session/context.tsx";
import type { EmbedSlice } from "./slice.ts";

export const useEmbed = sliceHook<EmbedSlice>();
