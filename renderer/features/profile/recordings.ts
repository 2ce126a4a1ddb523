/** The recordings of a window: which one is shown, which one beside it, files of them in and out. */
import { traceArchive, traceText } from "../../../main/contract/recordings/perfetto.ts";
import {
  LARGEST_RECORDING,
  readRecording,
  RECORDING_SUFFIX,
  recordingText,
} from "../../../main/contract/recordings/recordingFile.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { current, IDLE, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { saveBlob, saveText } from "../../ui/saveText.ts";
import type { KeptRecording, ProfileSlice } from "./slice.ts";

/** Recordings that a window keeps of a model, the newest first. */
export const MOST_RECORDINGS = 6;

export const NOTHING_CHOSEN = { profileStep: -1, profileSlice: -1, profileSelection: null } as const;

/** The newest first; the oldest go. */
export const withRecording = (
  kept: readonly KeptRecording[],
  profile: ProfileView,
  foreign: boolean,
): readonly KeptRecording[] => {
  const id = 1 + kept.reduce((most, each) => Math.max(most, each.id), 0);
  return [{ id, profile, foreign }, ...kept].slice(0, MOST_RECORDINGS);
};

/** The slowest decode step, the most useful one to see first. */
export function slowestStep({ steps }: ProfileView): number {
  let slowest = -1;
  for (let i = 0; i < steps.seconds.length; i++)
    if (steps.decode[i] === 1 && (slowest < 0 || (steps.seconds[i] ?? 0) > (steps.seconds[slowest] ?? 0))) slowest = i;
  return slowest;
}

type Actions = Pick<
  ProfileSlice,
  "showRecording" | "compareRecording" | "removeRecording" | "openRecording" | "saveRecording" | "saveTrace"
>;

export function recordingActions(
  { set, get }: SliceTools<ProfileSlice>,
  show: (profile: Async<ProfileView>) => void,
): Actions {
  const find = (id: number): KeptRecording | undefined => get().recordings.find((each) => each.id === id);
  const showKept = ({ profile, foreign }: KeptRecording): void => {
    const second = get().profileSecond;
    set({
      ...NOTHING_CHOSEN,
      profileForeign: foreign,
      profileStep: slowestStep(profile),
      profileSecond: second === profile ? null : second,
    });
    show(ready(profile));
  };
  return {
    showRecording(id) {
      const found = find(id);
      if (found !== undefined && get().profile.kind !== "loading") showKept(found);
    },
    compareRecording(id) {
      const found = id === null ? undefined : find(id);
      set({ profileSecond: found?.profile ?? null });
    },
    removeRecording(id) {
      const { profile, profileSecond, recordings } = get();
      const gone = find(id);
      if (gone === undefined || profile.kind === "loading") return;
      const kept = recordings.filter((each) => each !== gone);
      set({ recordings: kept });
      if (profileSecond === gone.profile) set({ profileSecond: null });
      if (current(profile) !== gone.profile) return;
      const [next] = kept;
      if (next !== undefined) showKept(next);
      else {
        set({ ...NOTHING_CHOSEN, profileForeign: false, profileSecond: null });
        show(IDLE);
      }
    },
    async openRecording(file) {
      try {
        if (file.size > LARGEST_RECORDING)
          throw new WorkbenchError(
            "INPUT_ARGUMENT",
            `[recording] ${file.name}: got ${file.size} bytes, expected at most ${LARGEST_RECORDING}`,
          );
        const read = readRecording(file.name, await file.text());
        const foreign = read.model !== current(get().model)?.title;
        set({ recordings: withRecording(get().recordings, read, foreign) });
        const [kept] = get().recordings;
        if (kept === undefined) return;
        if (current(get().profile) === null) showKept(kept);
        else set({ profileSecond: read });
      } catch (error) {
        get().notifyError("The recording could not be read", error);
      }
    },
    saveRecording() {
      const shown = current(get().profile);
      if (shown !== null) saveText(`${fileName(shown)}${RECORDING_SUFFIX}`, recordingText(shown), "application/json");
    },
    saveTrace() {
      const [shown, second] = [current(get().profile), get().profileSecond];
      if (shown === null) return;
      if (second === null) saveText(`${fileName(shown)}-trace.json`, traceText([shown]), "application/json");
      else
        saveBlob(
          `${fileName(shown)}-traces.zip`,
          new Blob([traceArchive([shown, second])], { type: "application/zip" }),
        );
    },
  };
}

/** Model and time as a name for files on every system. */
const fileName = ({ model, recordedAt }: ProfileView): string =>
  `${model.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80)}-${new Date(recordedAt).toISOString().slice(0, 19).replaceAll(":", "")}`;
