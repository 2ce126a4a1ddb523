/** Profiles: what to record, the recordings that are kept, the one that is shown and the one beside it, what is chosen in them. */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { PhaseItem } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { NOTHING_CHOSEN, recordingActions, slowestStep, withRecording } from "./recordings.ts";
import { nodesOfSlice } from "./slices.ts";

export interface ProfileSettings {
  readonly device: RunDevice;
  readonly promptTokens: number;
  readonly generateTokens: number;
}

export interface KeptRecording {
  readonly id: number;
  readonly profile: ProfileView;
  /** From a file, and of another model: its ops are not those of the graph. */
  readonly foreign: boolean;
}

export interface ProfileSlice {
  readonly profileSettings: ProfileSettings;
  /** The recording that is shown. */
  readonly profile: Async<ProfileView>;
  readonly profileForeign: boolean;
  readonly recordings: readonly KeptRecording[];
  /** The recording that it is compared with; null: none. */
  readonly profileSecond: ProfileView | null;
  readonly profilePhase: PhaseItem | null;
  /** When the running recording began, by Date.now(). */
  readonly profileSince: number;
  /** Index of the step whose slices the inspector sums up; -1: none. */
  readonly profileStep: number;
  readonly profileSlice: number;
  readonly profileSelection: Selection | null;
  readonly setProfile: (part: Partial<ProfileSettings>) => void;
  readonly startProfile: () => Promise<void>;
  readonly stopProfile: () => void;
  readonly chooseStep: (step: number) => void;
  /** With its step in the timeline and its op in the graph. */
  readonly chooseSlice: (slice: number) => void;
  readonly selectArea: (selection: Selection | null) => void;
  readonly showRecording: (id: number) => void;
  /** null: with none. */
  readonly compareRecording: (id: number | null) => void;
  readonly removeRecording: (id: number) => void;
  /** A file that was saved here or by `rlx profile --save`; to compare with, where one is shown already. */
  readonly openRecording: (file: File) => Promise<void>;
  readonly saveRecording: () => void;
  /** For Perfetto: the one that is shown; with a second, an archive of both. */
  readonly saveTrace: () => void;
}

export function createProfileSlice(tools: SliceTools<ProfileSlice>): ProfileSlice {
  const { engine, set, get, on, emit } = tools;
  const task = createTask();
  const show = (profile: ProfileSlice["profile"]): void => {
    set({ profile });
    emit("profileChanged", get().profileForeign ? null : current(profile));
  };
  on("runnerChanged", (device) => set({ profileSettings: { ...get().profileSettings, device } }));
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    set({ profilePhase: null, recordings: [], profileSecond: null, profileForeign: false, ...NOTHING_CHOSEN });
    show(IDLE);
  });
  return {
    profileSettings: { device: DEFAULT_DEVICE, promptTokens: 64, generateTokens: 16 },
    profile: IDLE,
    ...{ profileForeign: false, recordings: [], profileSecond: null },
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
            set({
              profileStep: slowestStep(item.profile),
              profileForeign: false,
              recordings: withRecording(get().recordings, item.profile, false),
            });
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
      if (profileSlice < 0 || graph === null || profile === null || get().profileForeign) return;
      const [node] = nodesOfSlice(profile, profileSlice, graph.view.nodes.id);
      if (node !== undefined) emit("nodeChosen", node);
    },
    selectArea: (profileSelection) => set({ profileSelection }),
    ...recordingActions(tools, show),
  };
}
