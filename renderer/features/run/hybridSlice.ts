/** The demo graph's run: segments of Core ML on one device, the rest on the CPU. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import type { HybridView } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

/** null: the first device that runs segments. */
export type HybridDevice = RunDevice | null;

export interface HybridSlice {
  readonly hybrid: Async<HybridView>;
  readonly hybridDevice: HybridDevice;
  readonly setHybridDevice: (device: HybridDevice) => void;
  readonly runHybrid: () => Promise<void>;
  readonly stopHybrid: () => void;
}

export function createHybridSlice({ engine, set, get, on }: SliceTools<HybridSlice>): HybridSlice {
  const task = createTask();
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ hybrid: IDLE });
  });
  return {
    hybrid: IDLE,
    hybridDevice: null,
    setHybridDevice: (hybridDevice) => set({ hybridDevice }),
    async runHybrid() {
      const { model, target, hybrid: before, hybridDevice: device } = get();
      const open = current(model);
      if (open === null || target === null || before.kind === "loading") return;
      const { signal, isCurrent } = task.begin();
      set({ hybrid: loading(before) });
      get().noteCommand({ kind: "hybrid", device, target });
      try {
        const hybrid = await engine.call("hybrid.run", { model: open.model, target, device }, { signal });
        if (isCurrent()) set({ hybrid: ready(hybrid) });
      } catch (error) {
        if (isCurrent()) set({ hybrid: isCancelled(error) ? before : failed(error) });
      }
    },
    stopHybrid: task.stop,
  };
}
