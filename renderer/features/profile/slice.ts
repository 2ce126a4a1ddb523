/** Profiles: what to record, the recording, the chosen step and slice. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { PhaseItem } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { nodesOfSlice } from "./slices.ts";

export interface ProfileSettings {
  readonly device: RunDevice;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export interface ProfileSlice {
  readonly profileSettings: ProfileSettings;
  readonly profile: Async<ProfileView>;
  readonly profilePhase: PhaseItem | null;
  /** When the running recording began, by Date.now(). */
  readonly profileSince: number;
  /** Index of the step whose slices the inspector sums up; -1: none. */
  readonly profileStep: number;
  readonly profileSlice: number;
  readonly setProfile: (part: Partial<ProfileSettings>) => void;
  readonly startProfile: () => Promise<void>;
  readonly stopProfile: () => void;
  readonly chooseStep: (step: number) => void;
  /** With its step in the timeline and its op in the graph. */
  readonly chooseSlice: (slice: number) => void;
}

const NOTHING_CHOSEN = { profileStep: -1, profileSlice: -1 } as const;

export function createProfileSlice({ engine, set, get, on, emit }: SliceTools<ProfileSlice>): ProfileSlice {
  const task = createTask();
  const show = (profile: ProfileSlice["profile"]): void => {
    set({ profile });
    emit("profileChanged", current(profile));
  };
  on("runnerChanged", (device) => set({ profileSettings: { ...get().profileSettings, device } }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ profilePhase: null, ...NOTHING_CHOSEN });
    show(IDLE);
  });
  return {
    profileSettings: { device: DEFAULT_DEVICE, promptTokens: 64, generateTokens: 16 },
    profile: IDLE,
    profilePhase: null,
    profileSince: 0,
    ...NOTHING_CHOSEN,
    setProfile: (part) => set({ profileSettings: { ...get().profileSettings, ...part } }),
    async startProfile() {
      const { model, profile: before, profileSettings: settings } = get();
      const open = current(model);
      if (open === null || before.kind === "loading") return;
      const { signal, isCurrent } = task.begin();
      set({ profilePhase: null, profileSince: Date.now(), ...NOTHING_CHOSEN });
      show(loading(before));
      get().noteCommand({ kind: "profile", ...settings });
      try {
        for await (const item of engine.stream("profile.run", { model: open.model, ...settings }, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "phase") set({ profilePhase: item });
          else {
            set({ profileStep: slowestStep(item.profile) });
            show(ready(item.profile));
          }
        }
        if (isCurrent() && get().profile.kind === "loading") show(before);
      } catch (error) {
        if (isCurrent()) show(isCancelled(error) ? before : failed(error));
      } finally {
        if (isCurrent()) set({ profilePhase: null });
      }
    },
    stopProfile: task.stop,
    chooseStep: (profileStep) => set({ profileStep, profileSlice: -1 }),
    chooseSlice(profileSlice) {
      const [graph, profile] = [current(get().graph), current(get().profile)];
      set({ profileSlice, profileStep: profile?.slices.step[profileSlice] ?? -1 });
      if (profileSlice < 0 || graph === null || profile === null) return;
      const [node] = nodesOfSlice(profile, profileSlice, graph.view.nodes.id);
      if (node !== undefined) emit("nodeChosen", node);
    },
  };
}

/** The slowest decode step, the most useful one to see first. */
export function slowestStep({ steps }: ProfileView): number {
  let slowest = -1;
  for (let i = 0; i < steps.seconds.length; i++)
    if (steps.decode[i] === 1 && (slowest < 0 || (steps.seconds[i] ?? 0) > (steps.seconds[slowest] ?? 0))) slowest = i;
  return slowest;
}
