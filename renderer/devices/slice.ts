/** What the window knows of the machine's devices: which is fastest for the open model, and the state the machine is in. */
import type { DeviceAdvice, MachineState } from "../../main/contract/views/machine.ts";
import type { Async } from "../session/async.ts";
import { current, failed, IDLE, isCancelled, loading, ready } from "../session/async.ts";
import type { SessionState, SliceTools } from "../session/sessionSlice.ts";

/** A question of some length and an answer: what devices are compared for until a benchmark says otherwise. */
export const ADVICE_TOKENS = { promptTokens: 512, generateTokens: 128 } as const;

export interface DevicesSlice {
  readonly advice: Async<DeviceAdvice>;
  /** What is going on while devices are measured; null when none is. */
  readonly calibrating: string | null;
  readonly machine: Async<MachineState>;
  readonly loadAdvice: () => Promise<void>;
  /** Measures what is not known; everything anew when all of it is. */
  readonly calibrate: () => Promise<void>;
  readonly stopCalibration: () => void;
  readonly resetAdvice: () => void;
  readonly loadMachine: () => Promise<void>;
}

type State = SessionState & DevicesSlice;

export function createDevicesSlice({ engine, set, get }: SliceTools<State>): DevicesSlice {
  let stopping: AbortController | null = null;
  let asks = 0;
  /** Models so far: what is said of one of them is not for the next. */
  let models = 0;
  /** A demo graph has no layers to reckon with: it is advised as a typical model. */
  const asked = () => {
    const open = current(get().model);
    return { model: open === null || open.file === null ? null : open.model, ...ADVICE_TOKENS };
  };
  return {
    advice: IDLE,
    calibrating: null,
    machine: IDLE,
    async loadAdvice() {
      asks += 1;
      const mine = asks;
      set({ advice: loading(get().advice) });
      try {
        const advice = await engine.call("devices.advise", asked());
        if (mine === asks) set({ advice: ready(advice) });
      } catch (error) {
        if (mine === asks) set({ advice: failed(error) });
      }
    },
    async calibrate() {
      if (stopping !== null) return;
      const mine = new AbortController();
      stopping = mine;
      const again = current(get().advice)?.canCalibrate === false;
      const began = models;
      set({ calibrating: "Starting" });
      try {
        for await (const item of engine.stream("devices.calibrate", { ...asked(), again }, { signal: mine.signal }))
          if (item.kind === "phase") set({ calibrating: item.sentence });
          else if (item.kind === "done") {
            asks += 1;
            // The time on MLX that the routing view shows was reckoned from what was known before.
            set({ onMlx: IDLE });
            // Another model has other sums.
            if (models === began) set({ advice: ready(item.advice) });
            else void get().loadAdvice();
          }
      } catch (error) {
        if (!isCancelled(error)) {
          asks += 1;
          set({ advice: failed(error) });
        }
      } finally {
        stopping = null;
        set({ calibrating: null });
      }
    },
    stopCalibration: () => stopping?.abort(),
    resetAdvice() {
      asks += 1;
      models += 1;
      set({ advice: IDLE });
    },
    async loadMachine() {
      set({ machine: loading(get().machine) });
      try {
        set({ machine: ready(await engine.call("machine.state", {})) });
      } catch (error) {
        set({ machine: failed(error) });
      }
    },
  };
}
