/** The session is made of slices, each with its own fields and its own reset. */
import { createConnectionSlice, NO_CONNECTION } from "./connection.ts";
import { createModelSlice, INITIAL_MODEL } from "./model.ts";
import { createNoticesSlice, NO_NOTICES } from "./notices.ts";
import { createPlansSlice, NO_PLANS } from "./plans.ts";
import { createRoutesSlice, INITIAL_ROUTES } from "./routes.ts";
import { createSelectionSlice, NO_SELECTION } from "./selection.ts";
import type { SessionState } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

export const INITIAL_SESSION = {
  ...NO_CONNECTION,
  ...INITIAL_MODEL,
  ...INITIAL_ROUTES,
  ...NO_PLANS,
  ...NO_SELECTION,
  ...NO_NOTICES,
} as const satisfies Partial<SessionState>;

export function createSession(tools: <Own, Readable>() => SliceTools<Own, Readable>): SessionState {
  return {
    ...createConnectionSlice(tools()),
    ...createModelSlice(tools()),
    ...createRoutesSlice(tools()),
    ...createPlansSlice(tools()),
    ...createSelectionSlice(tools()),
    ...createNoticesSlice(tools()),
  };
}
