/** A profile: the timeline of a real run, and the table by op with the bandwidth that each reached. */
import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import type { ProfileRow, ProfileView } from "../../../main/contract/views/run.ts";
import { peakShareOf } from "../../../main/contract/views/run.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { NumberField } from "../../ui/fields.tsx";
import { count, figureText, fineShare, plural, share, significant } from "../../ui/format.ts";
import { DeviceChip, Meter, TruthMark } from "../../ui/marks.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { tokenParts } from "./breakdown.ts";
import type { ProfileSlice } from "./slice.ts";
import { slowestSlice } from "./slices.ts";
import { Timeline } from "./Timeline.tsx";
import { timeText } from "./timelineText.ts";
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
  const sentence = useMemo(
    () => (profile === null ? "" : [profile.sentence, baseOf(profile)].filter((part) => part !== "").join(" ")),
    [profile],
  );
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
      {profile === null ? (
        <span className={styles["space"]} />
      ) : (
        <p className={styles["what"]}>
          <TruthMark truth={profile.truth} /> {profile.machine}. {sentence}
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

/** The base of the shares: ops are not all of a token. */
function baseOf(profile: ProfileView): string {
  const { parts } = tokenParts(profile);
  const outside = parts.filter(({ part }) => part === "sampling" || part === "between");
  if (parts.length === 0) return "";
  return `Shares are of its operations, ${share(1 - outside.reduce((sum, each) => sum + each.share, 0))} of a token.`;
}

function Recorded({ profile }: { readonly profile: ProfileView }): ReactNode {
  const [phase, setPhase] = useState<"decode" | "prefill">("decode");
  const chosen = useProfile((s) => profile.strings[profile.slices.op[s.profileSlice] ?? 0]);
  const chooseSlice = useProfile((s) => s.chooseSlice);
  const between = useMemo(() => tokenParts(profile).parts.find((each) => each.part === "between"), [profile]);
  const part = profile[phase];
  const hasDevices = part.rows.some((row) => row.device !== part.rows[0]?.device);
  return (
    <>
      <Timeline profile={profile} />
      <section className={styles["table"]} aria-label="By operation">
        <div className={styles["tableHead"]}>
          <Segmented
            label="Phase"
            value={phase}
            options={[
              { id: "decode", text: "Decode, one token" },
              { id: "prefill", text: "Prefill, the prompt" },
            ]}
            onChange={setPhase}
          />
          <span>
            {figureText(part.seconds)} a token
            {phase === "decode" && between !== undefined && between.seconds > 0
              ? ` and ${timeText(profile, between.seconds)} until the next`
              : ""}
            , {plural(Math.round(part.rows.reduce((n, row) => n + row.count, 0)), "instruction")}
            {profile.peakBandwidth === null ? "" : `, peak ${figureText(profile.peakBandwidth)}`}
          </span>
        </div>
        <div className={styles["rows"]} tabIndex={0} role="region" aria-label="By operation, table">
          <table className={table["table"]}>
            <thead>
              <tr>
                <th>operation</th>
                {hasDevices ? <th className={table["left"]}>device</th> : null}
                <th>count</th>
                <th>{phase === "decode" ? "time, one token" : "time"}</th>
                <th title="Of the time in operations">of ops</th>
                <th>GB/s</th>
                <th className={cx(table["left"], styles["peak"])}>of peak bandwidth</th>
              </tr>
            </thead>
            <tbody>
              {part.rows.map((row) => (
                <Row
                  key={`${row.op}/${row.device}`}
                  row={row}
                  hasDevices={hasDevices}
                  time={(value) => timeText(profile, value)}
                  chosen={row.op === chosen}
                  onChoose={() => chooseSlice(slowestSlice(profile, row.op, phase === "decode"))}
                />
              ))}
            </tbody>
          </table>
        </div>
        {part.rows.some((row) => peakShareOf(row).kind === "cache") ? (
          <p className={styles["below"]}>
            From cache: faster than memory, because these weights are small enough to stay in the processor’s cache from
            token to token.
          </p>
        ) : null}
      </section>
    </>
  );
}

function Row({
  row,
  hasDevices,
  time,
  chosen,
  onChoose,
}: {
  readonly row: ProfileRow;
  readonly hasDevices: boolean;
  readonly time: (value: number) => string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}): ReactNode {
  const peak = peakShareOf(row);
  return (
    <tr data-chosen={chosen} onClick={onChoose}>
      <td className={table["text"]}>
        {/* The row has the click; the button is for the keyboard. */}
        <button type="button" aria-pressed={chosen} title="Select the slowest of them">
          {row.op}
        </button>
      </td>
      {hasDevices ? (
        <td className={table["left"]}>
          <DeviceChip device={row.device} />
        </td>
      ) : null}
      <td>{count(row.count)}</td>
      <td>{time(row.seconds)}</td>
      <td>{fineShare(row.share)}</td>
      <td>{row.bandwidth === null || peak.kind === "none" ? "–" : significant(row.bandwidth / 1e9)}</td>
      <td className={styles["peak"]}>
        {peak.kind === "none" ? null : peak.kind === "cache" ? (
          <span className={styles["cache"]} title={`${significant(peak.value)} × what memory gives`}>
            from cache
          </span>
        ) : (
          <div className={styles["meter"]}>
            <Meter value={peak.value} label="Share of peak bandwidth" />
            <span>{share(peak.value)}</span>
          </div>
        )}
      </td>
    </tr>
  );
}
