/** Profiles: what to record, the recording, which step is looked at. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { PhaseItem } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";

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
  /** With the step that it belongs to. */
  readonly chooseSlice: (slice: number) => void;
  readonly resetProfile: () => void;
}

type State = SessionState & ProfileSlice;

export function createProfileSlice({ engine, set, get }: SliceTools<State>): ProfileSlice {
  let stopping: AbortController | null = null;
  return {
    profileSettings: { device: DEFAULT_DEVICE, promptTokens: 64, generateTokens: 16 },
    profile: IDLE,
    profilePhase: null,
    profileSince: 0,
    profileStep: -1,
    profileSlice: -1,
    setProfile: (part) => set({ profileSettings: { ...get().profileSettings, ...part } }),
    async startProfile() {
      const open = current(get().model);
      if (open === null || get().profile.kind === "loading") return;
      const mine = new AbortController();
      stopping = mine;
      const before = get().profile;
      set({
        profile: loading(before),
        profilePhase: null,
        profileSince: Date.now(),
        profileStep: -1,
        profileSlice: -1,
      });
      get().noteCommand({ kind: "profile", ...get().profileSettings });
      try {
        for await (const item of engine.stream(
          "profile.run",
          { model: open.model, ...get().profileSettings },
          { signal: mine.signal },
        )) {
          // What an aborted profile still says belongs to a model that is closed.
          if (stopping !== mine) return;
          if (item.kind === "phase") set({ profilePhase: item });
          else set({ profile: ready(item.profile), profileStep: slowestStep(item.profile) });
        }
        if (stopping === mine && get().profile.kind === "loading") set({ profile: before });
      } catch (error) {
        if (stopping === mine) set({ profile: isCancelled(error) ? before : failed(error) });
      } finally {
        if (stopping === mine) {
          stopping = null;
          set({ profilePhase: null });
        }
      }
    },
    stopProfile: () => stopping?.abort(),
    chooseStep: (profileStep) => set({ profileStep, profileSlice: -1 }),
    chooseSlice: (profileSlice) =>
      set({ profileSlice, profileStep: current(get().profile)?.slices.step[profileSlice] ?? -1 }),
    resetProfile() {
      stopping?.abort();
      stopping = null;
      set({ profile: IDLE, profilePhase: null, profileStep: -1, profileSlice: -1 });
    },
  };
}

/** The slowest token: what a person wants to see first. Prefill is another matter. */
export function slowestStep({ steps }: ProfileView): number {
  let slowest = -1;
  for (let i = 0; i < steps.seconds.length; i++)
    if (steps.decode[i] === 1 && (slowest < 0 || (steps.seconds[i] ?? 0) > (steps.seconds[slowest] ?? 0))) slowest = i;
  return slowest;
}
