/** What a session keeps of profiles: the settings, and the recordings that are not too large. */
import { z } from "zod";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { readRecording, recordingText } from "../../../main/contract/recordings/recordingFile.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { current, ready } from "../../session/async.ts";
import { documentPart } from "../../session/document.ts";
import { MOST_RECORDINGS, slowestStep } from "./recordings.ts";
import type { KeptRecording, ProfileSlice } from "./slice.ts";

/** Slices of all recordings that are kept: each takes some sixty letters, and more with many threads. */
export const MOST_SLICES = 15_000;

/** Texts of recordings that were packed: one is saved again and again. */
const packed = new WeakMap<ProfileView, string>();

function textOf(profile: ProfileView): string {
  const known = packed.get(profile);
  if (known !== undefined) return known;
  const text = recordingText(profile);
  packed.set(profile, text);
  return text;
}

const device = runDevice;
const settings = z.object({ device, promptTokens: z.number(), generateTokens: z.number() });
const kept = z.object({ text: z.string(), foreign: z.boolean() });

export const profilePart = documentPart<ProfileSlice>()({
  name: "profile",
  of: "model",
  // `recording` is what earlier versions kept; its form is gone, and it is recorded again.
  schema: z.object({
    settings,
    recording: z.string().nullish(),
    recordings: z.array(kept).max(MOST_RECORDINGS).default([]),
  }),
  save({ profileSettings, profile, recordings }) {
    const shown = current(profile);
    const texts = fitting(recordings, shown).map((each) => ({ text: textOf(each.profile), foreign: each.foreign }));
    return { settings: profileSettings, recordings: texts };
  },
  restore({ settings: profileSettings, recordings: texts }, { set, emit }) {
    set({ profileSettings });
    const recordings = texts.flatMap(({ text, foreign }, i) => {
      const profile = read(text);
      return profile === undefined ? [] : [{ id: texts.length - i, profile, foreign }];
    });
    const [shown] = recordings;
    if (shown === undefined) return;
    const { profile, foreign } = shown;
    set({ recordings, profile: ready(profile), profileForeign: foreign, profileStep: slowestStep(profile) });
    emit("profileChanged", foreign ? null : profile);
  },
});

/** The one that is shown comes first, then the newest, while there is room. */
function fitting(recordings: readonly KeptRecording[], shown: ProfileView | null): readonly KeptRecording[] {
  const order = recordings.toSorted((a, b) => Number(b.profile === shown) - Number(a.profile === shown));
  let slices = 0;
  return order.filter(({ profile: { slices: own, threads } }) => {
    const size = own.start.length * (1 + threads.count / 8);
    if (slices + size > MOST_SLICES) return false;
    slices += size;
    return true;
  });
}

/** undefined: it is damaged, or of another version. */
function read(text: string): ProfileView | undefined {
  try {
    return readRecording("the session's recording", text);
  } catch {
    return undefined;
  }
}
