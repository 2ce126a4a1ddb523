/** Whether the open model can be run here. */
import { current } from "./async.ts";
import { useSession } from "./context.tsx";

export const useCanRun = (): boolean => useSession((state) => current(state.model)?.canRun.ok === true);
