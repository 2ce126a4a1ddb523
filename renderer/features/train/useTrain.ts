/** The session, the training of this window, and the runs that are kept. */
import { sliceHook } from "../../session/context.tsx";
import type { KeptRunsSlice } from "./runsSlice.ts";
import type { TrainSlice } from "./slice.ts";

export const useTrain = sliceHook<TrainSlice & KeptRunsSlice>();
