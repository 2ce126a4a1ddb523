/** A profile: the timeline of a real run, what a selection of it adds up to, and its tables; a second recording beside it. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type { Phase } from "../../../main/contract/recordings/sums.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { NumberField } from "../../ui/fields.tsx";
import { figureText } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import { DifferenceTable } from "./DifferenceTable.tsx";
import { ProfileTable } from "./ProfileTable.tsx";
import { RecordingBar } from "./RecordingBar.tsx";
import { SelectionLine } from "./SelectionLine.tsx";
import type { ProfileSlice } from "./slice.ts";
import type { Grouping } from "./tableRows.ts";
import { Timeline } from "./Timeline.tsx";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();

export function ProfileTab(): ReactNode {
  const overview = useProfile((s) => current(s.model));
  const state = useProfile((s) => s.profile);
  const start = useProfile((s) => s.startProfile);
  const setTab = useProfile((s) => s.setTab);
  if (overview === null) return null;
  if (!overview.canMeasure.ok)
    return (
      <CannotHere title="This cannot be profiled here" why={overview.canMeasure} onLocate={() => setTab("overview")} />
    );
  const profile = current(state);
  return (
    <div className={styles["tab"]}>
      <Settings profile={profile} />
      {state.kind === "failed" ? (
        <ErrorNote title="The profile was not recorded" error={state.error} onRetry={() => void start()} />
      ) : null}
      {state.kind === "loading" && profile === null ? <Waiting /> : null}
      {profile === null && state.kind !== "loading" ? (
        <Empty title="Nothing recorded yet">
          A recording runs a short prompt and writes some tokens with the clock on: one slice per instruction of the
          plan.
        </Empty>
      ) : null}
      {profile === null ? null : <Recorded profile={profile} />}
    </div>
  );
}

function Waiting(): ReactNode {
  const phase = useProfile((s) => s.profilePhase);
  const since = useProfile((s) => s.profileSince);
  return <Progress sentence={phase?.sentence ?? "Starting"} fraction={phase?.fraction ?? null} since={since} />;
}

function Settings({ profile }: { readonly profile: ProfileView | null }): ReactNode {
  const settings = useProfile((s) => s.profileSettings);
  const set = useProfile((s) => s.setProfile);
  const running = useProfile((s) => s.profile.kind === "loading");
  const start = useProfile((s) => s.startProfile);
  const stop = useProfile((s) => s.stopProfile);
  const most = useProfile((s) => Math.max(1, Math.floor((current(s.model)?.context.trained ?? 16_384) / 2)));
  return (
    <div className={styles["settings"]}>
      <NumberField
        whole
        label="Prompt tokens"
        hint="How many random tokens are read first, all with the clock on."
        value={settings.promptTokens}
        min={1}
        max={Math.min(8192, most)}
        digits={4}
        onChange={(promptTokens) => set({ promptTokens })}
      />
      <NumberField
        whole
        label="Tokens to write"
        hint="How many tokens are then written one by one."
        value={settings.generateTokens}
        min={1}
        max={Math.min(1024, most)}
        digits={4}
        onChange={(generateTokens) => set({ generateTokens })}
      />
      <DevicePicker
        label="Recorded on"
        lead="On"
        value={settings.device}
        needs="profile"
        disabled={running}
        onChange={(device) => set({ device })}
      />
      <RecordingBar />
      {profile === null ? (
        <span className={styles["space"]} />
      ) : (
        <p className={styles["what"]}>
          <TruthMark truth={profile.truth} /> {profile.machine}. {profile.sentence}
        </p>
      )}
      {running ? (
        <Button look="primary" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button look="primary" onClick={() => void start()}>
          {profile === null ? "Record" : "Record again"}
        </Button>
      )}
    </div>
  );
}

type Tables = Grouping | "difference";

function Recorded({ profile }: { readonly profile: ProfileView }): ReactNode {
  const [phase, setPhase] = useState<Phase>("decode");
  const [tables, setTables] = useState<Tables>("op");
  const selection = useProfile((s) => s.profileSelection);
  const select = useProfile((s) => s.selectArea);
  const second = useProfile((s) => s.profileSecond);
  // What was just asked for is what is shown.
  useEffect(() => setTables(second === null ? "op" : "difference"), [second]);
  const shown = second === null && tables === "difference" ? "op" : tables;
  const part = profile[phase];
  return (
    <>
      <Timeline profile={profile} second={second} />
      <section className={styles["table"]} aria-label="By operation">
        {selection === null ? null : (
          <SelectionLine profile={profile} selection={selection} onClear={() => select(null)} />
        )}
        <div className={styles["tableHead"]}>
          <Segmented
            label="Table"
            value={shown}
            options={[
              { id: "op", text: "By op" },
              { id: "layer", text: "By layer" },
              { id: "bottom-up", text: "Bottom-up" },
              ...(second === null ? [] : [{ id: "difference", text: "Difference" } as const]),
            ]}
            onChange={setTables}
          />
          {selection === null && shown !== "difference" ? (
            <>
              <Segmented
                label="Phase"
                value={phase}
                options={[
                  { id: "decode", text: "Decode, one token" },
                  { id: "prefill", text: "Prefill, the prompt" },
                ]}
                onChange={setPhase}
              />
              <span title={part.seconds.basis}>
                {figureText(part.whole)} a token, {figureText(part.seconds)} of it in the engine
                {profile.peakBandwidth === null ? "" : `, peak ${figureText(profile.peakBandwidth)}`}
              </span>
            </>
          ) : null}
        </div>
        {shown === "difference" && second !== null ? (
          <DifferenceTable first={profile} second={second} />
        ) : shown === "difference" ? null : (
          <ProfileTable profile={profile} phase={phase} selection={selection} grouping={shown} />
        )}
      </section>
    </>
  );
}
