/**
 * The machine's devices: which runs for the subject and which is fastest for the open model, their calibration, and the state of
 * the machine.
 */
import type { FirstSubject } from "../../main/contract/views/preferences.ts";
import type { DeviceAdvice, MachineState } from "../../main/contract/views/machine.ts";
import type { Async } from "../session/async.ts";
import { createQuestions, createTask, current, failed, IDLE, isCancelled, ready } from "../session/async.ts";
import type { SliceTools } from "../session/slice.ts";
import { firstBackend, runnerOf } from "./runner.ts";

/** Devices are compared for a prompt and an answer of this length, until a benchmark says otherwise. */
export const ADVICE_TOKENS = { promptTokens: 512, generateTokens: 128 } as const;

export interface DevicesSlice {
  readonly advice: Async<DeviceAdvice>;
  /** The current step of a calibration; null without one. */
  readonly calibrating: string | null;
  readonly machine: Async<MachineState>;
  readonly loadAdvice: () => Promise<void>;
  /** Measures what is not known yet, or everything anew when all of it is known. */
  readonly calibrate: () => Promise<void>;
  readonly stopCalibration: () => void;
  readonly loadMachine: () => Promise<void>;
}

export function createDevicesSlice(tools: SliceTools<DevicesSlice>): DevicesSlice {
  const { engine, set, get, on, emit } = tools;
  keepRunner(tools);
  chooseFirst(tools);
  const calibration = createTask();
  const advising = createQuestions();
  const asking = createQuestions();
  /** Counts models: a calibration may end under another one than it began under. */
  let models = 0;
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    advising.drop();
    models += 1;
    set({ advice: IDLE });
  });
  /** A demo graph has no layers to compute with: advice for it is advice for a typical model. */
  const subject = () => {
    const open = current(get().model);
    return { model: open === null || open.file === null ? null : open.model, ...ADVICE_TOKENS };
  };
  return {
    advice: IDLE,
    calibrating: null,
    machine: IDLE,
    loadAdvice: () =>
      advising.ask(
        get().advice,
        () => engine.call("devices.advise", subject()),
        (advice) => set({ advice }),
      ),
    async calibrate() {
      if (get().calibrating !== null) return;
      const { signal } = calibration.begin();
      const again = current(get().advice)?.canCalibrate === false;
      const began = models;
      set({ calibrating: "Starting" });
      try {
        for await (const item of engine.stream("devices.calibrate", { ...subject(), again }, { signal }))
          if (item.kind === "phase") set({ calibrating: item.sentence });
          else if (item.kind === "done") {
            advising.drop();
            emit("devicesCalibrated", null);
            // Another model takes other times.
            if (models === began) set({ advice: ready(item.advice) });
            else void get().loadAdvice();
          }
      } catch (error) {
        if (isCancelled(error)) return;
        advising.drop();
        set({ advice: failed(error) });
      } finally {
        set({ calibrating: null });
      }
    },
    stopCalibration: calibration.stop,
    loadMachine: () =>
      asking.ask(
        get().machine,
        () => engine.call("machine.state", {}),
        (machine) => set({ machine }),
      ),
  };
}

/** What runs follows the subject: said when the list of devices comes, and when another runtime is chosen. */
function keepRunner({ get, watch, emit }: SliceTools<DevicesSlice>): void {
  let runner: string | null = null;
  watch(
    ({ info, backend }) => [current(info)?.devices, backend],
    () => {
      const devices = current(get().info)?.devices;
      if (devices === undefined) return;
      const now = runnerOf(get().backend, devices);
      if (now !== runner) emit("runnerChanged", now);
      runner = now;
    },
  );
}

/** The window begins as the settings say: on a Mac with what is fastest there, or always the same; until a person chooses. */
function chooseFirst({ engine, get, on, watch }: SliceTools<DevicesSlice>): void {
  let isChosen = false;
  let askedFor = "";
  let first: FirstSubject = "advise";
  on("backendChanged", ({ by }) => {
    isChosen ||= by !== "window";
  });
  const choose = async (): Promise<void> => {
    const [info, open] = [current(get().info), current(get().model)];
    if (isChosen || info === null || open?.canGraph.ok !== true || askedFor === open.model) return;
    if (first !== "advise") {
      askedFor = open.model;
      if (first !== get().backend) get().setBackend(first, "window");
      return;
    }
    if (info.platform !== "darwin") return;
    askedFor = open.model;
    const model = open.file === null ? null : open.model;
    const best = await engine.call("devices.advise", { model, ...ADVICE_TOKENS }).then(
      (advice) => advice.best,
      () => null,
    );
    const fastest = firstBackend(info.devices, best);
    const isOpen = current(get().model)?.model === open.model;
    if (fastest !== null && !isChosen && isOpen && fastest !== get().backend) get().setBackend(fastest, "window");
  };
  on("preferencesChanged", ({ firstSubject }) => {
    if (firstSubject === first) return;
    first = firstSubject;
    askedFor = "";
    void choose();
  });
  watch(
    ({ info, model }) => [current(info)?.platform, current(model)?.model],
    () => void choose(),
  );
}
