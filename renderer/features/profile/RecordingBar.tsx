/** Which recording is shown, which one beside it, and files of both. */
import type { ReactNode } from "react";
import { recordingTitle, RECORDING_SUFFIX } from "../../../main/contract/recordings/recordingFile.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import type { KeptRecording, ProfileSlice } from "./slice.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
const NONE = "";

export function RecordingBar(): ReactNode {
  const recordings = useProfile((s) => s.recordings);
  const shown = useProfile((s) => current(s.profile));
  const second = useProfile((s) => s.profileSecond);
  const show = useProfile((s) => s.showRecording);
  const compare = useProfile((s) => s.compareRecording);
  const idOf = (profile: typeof shown): string =>
    String(recordings.find((each) => each.profile === profile)?.id ?? NONE);
  const options = recordings.map((kept) => ({ id: String(kept.id), title: shortTitle(kept) }));
  return (
    <div className={styles["pickers"]}>
      {options.length < 2 ? null : (
        <>
          <ChoiceField label="Shown" value={idOf(shown)} options={options} onChange={(id) => show(Number(id))} />
          <ChoiceField
            label="Compare"
            value={second === null ? NONE : idOf(second)}
            options={[{ id: NONE, title: "none" }, ...options.filter(({ id }) => id !== idOf(shown))]}
            onChange={(id) => compare(id === NONE ? null : Number(id))}
          />
        </>
      )}
      <FileMenu />
    </div>
  );
}

/** "cpu, 14:02:31"; of another model with its name. */
const shortTitle = ({ profile, foreign }: KeptRecording): string =>
  foreign ? recordingTitle(profile) : recordingTitle(profile).slice(`${profile.model} on `.length);

function FileMenu(): ReactNode {
  const shown = useProfile((s) => current(s.profile));
  const second = useProfile((s) => s.profileSecond);
  const id = useProfile((s) => s.recordings.find(({ profile }) => profile === current(s.profile))?.id);
  const open = useProfile((s) => s.openRecording);
  const save = useProfile((s) => s.saveRecording);
  const trace = useProfile((s) => s.saveTrace);
  const remove = useProfile((s) => s.removeRecording);
  const picker = useFilePicker({
    label: "Open a recording",
    accept: `${RECORDING_SUFFIX},.json,application/json`,
    onFiles: ([file]) => void open(file),
  });
  return (
    <Popover label="Files of recordings" trigger="Files" width={380} firm>
      <div className={styles["files"]}>
        <p>A recording</p>
        <Button small disabled={shown === null} onClick={save}>
          Save
        </Button>
        <Button small onClick={picker.open}>
          {shown === null ? "Open…" : "Compare with…"}
        </Button>
        <p>{second === null ? "A trace, for Perfetto" : "Both as traces, for Perfetto"}</p>
        <Button small disabled={shown === null} onClick={trace}>
          Save
        </Button>
        <span />
        <p>The one that is shown</p>
        <Button
          small
          disabled={id === undefined}
          onClick={() => {
            if (id !== undefined) remove(id);
          }}
        >
          Remove
        </Button>
        {picker.input}
      </div>
    </Popover>
  );
}
