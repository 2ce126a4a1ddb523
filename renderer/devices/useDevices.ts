/** The session and what is known of the devices. */
import { sliceHook } from "../session/context.tsx";
import type { DevicesSlice } from "./slice.ts";

export const useDevices = sliceHook<DevicesSlice>();
