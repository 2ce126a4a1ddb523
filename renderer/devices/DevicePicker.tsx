/**
 * The choice of a device: every device, why one is missing, and the fastest one with its
 * arithmetic.
 */
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { Capability, RunDevice } from "../../main/contract/views/engine.ts";
import { current } from "../session/async.ts";
import { Button } from "../ui/Button.tsx";
import { cx } from "../ui/cx.ts";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Facts } from "../ui/Facts.tsx";
import { seconds } from "../ui/format.ts";
import { TruthMark } from "../ui/marks.tsx";
import { Popover } from "../ui/Popover.tsx";
import { Progress } from "../ui/states.tsx";
import { Words } from "../ui/Words.tsx";
import type { DeviceChoice } from "./choices.ts";
import { deviceChoices, deviceTitle } from "./choices.ts";
import { useDevices } from "./useDevices.ts";
import styles from "./Devices.module.css";

export interface DevicePickerProps {
  /** Read out with the choice: "Runs on". */
  readonly label: string;
  /** Shown before the device; nothing without it. */
  readonly lead?: string;
  readonly value: RunDevice;
  /** The capability that the task needs; by default, running models. */
  readonly needs?: Capability;
  readonly disabled?: boolean;
  /** In a row of fields, as high as they are. */
  readonly besideFields?: boolean;
  readonly onChange: (device: RunDevice) => void;
}

export function DevicePicker({
  label,
  lead,
  value,
  needs = "tokens",
  disabled = false,
  besideFields = false,
  onChange,
}: DevicePickerProps): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const title = deviceTitle(devices, value);
  if (disabled)
    return (
      <span className={cx(styles["fixed"], besideFields && styles["besideFields"])}>
        {lead === undefined ? null : <span>{lead} </span>}
        <b>{title}</b>
      </span>
    );
  return (
    <Popover
      small={!besideFields}
      label={label}
      width={380}
      trigger={
        <>
          {lead === undefined ? null : <span>{lead}</span>}
          <b>{title}</b>
        </>
      }
    >
      <Choices label={label} value={value} needs={needs} onChange={onChange} />
      <Advice />
    </Popover>
  );
}

function Choices({
  label,
  value,
  needs,
  onChange,
}: {
  readonly label: string;
  readonly value: RunDevice;
  readonly needs: Capability;
  readonly onChange: (device: RunDevice) => void;
}): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const advice = useDevices((s) => current(s.advice));
  return (
    <div className={styles["list"]} role="radiogroup" aria-label={label}>
      {deviceChoices(devices ?? [], advice, needs).map((choice) => (
        <Choice key={choice.id} choice={choice} chosen={choice.id === value} onChange={onChange} />
      ))}
    </div>
  );
}

function Choice({
  choice,
  chosen,
  onChange,
}: {
  readonly choice: DeviceChoice;
  readonly chosen: boolean;
  readonly onChange: (device: RunDevice) => void;
}): ReactNode {
  const { id, title, sentence, usable, instead, fastest } = choice;
  return (
    <div className={cx(styles["choice"], !usable && styles["missing"])}>
      <label>
        <input type="radio" checked={chosen} disabled={!usable} onChange={() => onChange(id)} />
        <span>
          <b>{title}</b>
          {fastest ? <em>fastest here</em> : null}
          {choice.seconds === null ? null : <i>~{seconds(choice.seconds)}</i>}
        </span>
      </label>
      <p>
        <Words text={sentence} />
      </p>
      {instead === null ? null : (
        <Button small onClick={() => onChange(instead.id)}>
          Take {instead.title} instead
        </Button>
      )}
    </div>
  );
}

/** The recommendation: a sentence, its arithmetic, and a way to measure what is unknown. */
function Advice(): ReactNode {
  const state = useDevices((s) => s.advice);
  const load = useDevices((s) => s.loadAdvice);
  const calibrate = useDevices((s) => s.calibrate);
  const stop = useDevices((s) => s.stopCalibration);
  const calibrating = useDevices((s) => s.calibrating);
  // Asked whenever the list opens: the answer depends on the model.
  useEffect(() => void load(), [load]);
  const advice = current(state);
  return (
    <section className={styles["advice"]} aria-label="Which is fastest">
      {state.kind === "failed" ? <ErrorNote title="The devices could not be compared" error={state.error} /> : null}
      {advice === null ? null : (
        <>
          <p>
            {advice.best === null ? null : <TruthMark truth="predicted" />} {advice.sentence}
          </p>
          {advice.devices.some(({ arithmetic }) => arithmetic.length > 0) ? (
            <details>
              <summary>
                The sums, for {advice.promptTokens} tokens read and {advice.generateTokens} written
              </summary>
              <p>{advice.need}.</p>
              {advice.devices
                .filter(({ arithmetic }) => arithmetic.length > 0)
                .map((row) => (
                  <div key={row.device}>
                    <h4>{row.sentence}</h4>
                    <Facts rows={row.arithmetic.map(({ label, value }) => [label, value] as const)} />
                  </div>
                ))}
            </details>
          ) : null}
        </>
      )}
      {advice === null ? null : <BadMoment />}
      {calibrating !== null ? (
        <>
          <Progress sentence={calibrating} fraction={null} />
          <Button small onClick={stop}>
            Stop
          </Button>
        </>
      ) : advice === null ? null : (
        <Button
          small
          title="Takes a few seconds; close other programs. The result is kept (same as rlx doctor --calibrate)."
          onClick={() => void calibrate()}
        >
          {advice.canCalibrate ? "Measure the devices" : "Measure again"}
        </Button>
      )}
    </section>
  );
}

/** Heat, battery, little memory or other programs: they disturb a measurement. */
function BadMoment(): ReactNode {
  const machine = useDevices((s) => current(s.machine));
  const load = useDevices((s) => s.loadMachine);
  useEffect(() => void load(), [load]);
  const bad = (machine?.readings ?? []).filter(({ state }) => state === "warning");
  if (bad.length === 0) return null;
  return (
    <p className={styles["warning"]}>
      Not a quiet moment to measure: {bad.map(({ title, value }) => `${title.toLowerCase()} ${value ?? ""}`).join("; ")}
      .
    </p>
  );
}
