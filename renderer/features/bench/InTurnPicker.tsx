/** Further devices and models that are measured in turn with the first. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { deviceChoices } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { plural } from "../../ui/format.ts";
import { fileTitles } from "../../session/fileTitles.ts";
import { Popover } from "../../ui/Popover.tsx";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

/** The contract takes seven further models. */
const MOST_MODELS = 7;

export function InTurnPicker({ disabled }: { readonly disabled: boolean }): ReactNode {
  const { otherDevices, otherModels } = useBench((s) => s.benchSettings);
  const parts = [
    ...(otherDevices.length === 0 ? [] : [plural(otherDevices.length, "device")]),
    ...(otherModels.length === 0 ? [] : [plural(otherModels.length, "model")]),
  ];
  const text = parts.length === 0 ? "nothing" : parts.join(", ");
  const trigger = (
    <>
      <span>In turn with</span>
      <b>{text}</b>
    </>
  );
  if (disabled) return <span className={styles["fixed"]}>{trigger}</span>;
  return (
    <Popover label="In turn with" width={380} trigger={trigger}>
      <Choices />
    </Popover>
  );
}

const toggled = (list: readonly string[], item: string): readonly string[] =>
  list.includes(item) ? list.filter((each) => each !== item) : [...list, item];

function Choices(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const set = useBench((s) => s.setBench);
  const devices = useBench((s) => current(s.info)?.devices ?? null);
  const recents = useBench((s) => current(s.recents));
  const load = useBench((s) => s.loadRecents);
  const own = useBench((s) => current(s.model)?.argument ?? null);
  useEffect(() => void load(), [load]);
  const titles = fileTitles((recents ?? []).map(({ path }) => path));
  const others = deviceChoices(devices ?? [], null, "measure").filter(({ id }) => id !== settings.device);
  const files = (recents ?? []).filter(({ path, exists }) => exists && path !== own);
  return (
    <div className={styles["choices"]}>
      <p>Each round takes one sample of everything, so that heat and other programs hit all alike.</p>
      <fieldset>
        <legend>Devices</legend>
        {others.map(({ id, title, usable, sentence }) => (
          <label key={id} title={sentence} className={usable ? undefined : styles["missing"]}>
            <input
              type="checkbox"
              disabled={!usable}
              checked={settings.otherDevices.includes(id)}
              onChange={() => set({ otherDevices: toggled(settings.otherDevices, id) })}
            />
            {usable ? title : `${title}: ${sentence}`}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>Models that were open before</legend>
        {files.length === 0 ? <p>None. Open one first; it is remembered.</p> : null}
        {files.map(({ path, name }) => (
          <label key={path} title={path}>
            <input
              type="checkbox"
              disabled={!settings.otherModels.includes(path) && settings.otherModels.length >= MOST_MODELS}
              checked={settings.otherModels.includes(path)}
              onChange={() => set({ otherModels: toggled(settings.otherModels, path) })}
            />
            {titles.get(path) ?? name}
          </label>
        ))}
      </fieldset>
    </div>
  );
}
