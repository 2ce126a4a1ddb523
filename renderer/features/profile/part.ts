/** What a session keeps of profiles: the settings, and the last recording while it is not too large. */
import { z } from "zod";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { profileView } from "../../../main/contract/views/run.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { current, ready } from "../../session/async.ts";
import { documentPart } from "../../session/document.ts";
import { packArrays, unpackArrays } from "../../../main/contract/recordings/packArrays.ts";
import type { ProfileSlice } from "./slice.ts";
import { slowestStep } from "./slice.ts";

/** Slices of a recording that is kept: each takes some sixty letters. */
export const MOST_SLICES = 15_000;

/** Texts of recordings that were packed: one is saved again and again. */
const packed = new WeakMap<ProfileView, string>();

function textOf(profile: ProfileView): string {
  const known = packed.get(profile);
  if (known !== undefined) return known;
  const text = JSON.stringify(packArrays(profile));
  packed.set(profile, text);
  return text;
}

const device = runDevice;
const settings = z.object({ device, promptTokens: z.number(), generateTokens: z.number() });

export const profilePart = documentPart<ProfileSlice>()({
  name: "profile",
  of: "model",
  schema: z.object({ settings, recording: z.string().nullable() }),
  save({ profileSettings, profile }) {
    const shown = current(profile);
    const isKept = shown !== null && shown.slices.start.length <= MOST_SLICES;
    return { settings: profileSettings, recording: isKept ? textOf(shown) : null };
  },
  restore({ settings: profileSettings, recording }, { set, emit }) {
    set({ profileSettings });
    const read = recording === null ? undefined : readRecording(recording);
    if (read === undefined) return;
    set({ profile: ready(read), profileStep: slowestStep(read) });
    emit("profileChanged", read);
  },
});

/** undefined: it is damaged, or of another version. */
function readRecording(text: string): ProfileView | undefined {
  try {
    return profileView.parse(unpackArrays(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
