/** Which of two files is faster on this machine: two of the models that are known here, which are then measured in turn. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { current } from "../../session/async.ts";
import { fileTitles } from "../../session/fileTitles.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { sizeText } from "./Recents.tsx";
import type { StartSlice } from "./slice.ts";
import { pairFiles, pairOf } from "./pair.ts";
import styles from "./Start.module.css";

const useStart = sliceHook<StartSlice>();

export interface PairFormProps {
  readonly onOpenPath: () => void;
  readonly onMeasure: (first: string, other: string) => void;
}

export function PairForm({ onOpenPath, onMeasure }: PairFormProps): ReactNode {
  const recents = useSession((state) => current(state.recents));
  const open = useSession((state) => current(state.model)?.file?.path ?? null);
  const found = useStart((state) => current(state.found));
  const watch = useStart((state) => state.watchFound);
  const load = useSession((state) => state.loadRecents);
  useEffect(() => void load(), [load]);
  const connected = useSession((state) => state.connection === "connected");
  useEffect(() => (connected ? watch() : undefined), [connected, watch]);
  const files = pairFiles(recents ?? [], found?.models ?? []);
  const [ticked, setTicked] = useState<readonly string[]>(open === null ? [] : [open]);
  const chosen = ticked.filter((path) => files.some((file) => file.path === path));
  const titles = fileTitles(files.map(({ path }) => path));
  const [first, other] = chosen;
  return (
    <div className={styles["pair"]}>
      <p className={styles["quiet"]}>
        Choose two. They are opened on this machine and measured in turn, so that heat and other programs hit both.
      </p>
      <fieldset className={styles["files"]} aria-label="Models on this machine">
        {files.length < 2 ? (
          <p>Fewer than two models are known here. Open each file once, or add their folder in the settings.</p>
        ) : null}
        {files.map(({ path, name, variant, bytes }) => (
          <label key={path} title={path}>
            <input type="checkbox" checked={chosen.includes(path)} onChange={() => setTicked(pairOf(chosen, path))} />
            <span>{titles.get(path) ?? name}</span>
            <em>{sizeText(variant, bytes)}</em>
          </label>
        ))}
      </fieldset>
      <div className={styles["actions"]}>
        <Button
          look="primary"
          disabled={other === undefined}
          onClick={() => (first === undefined || other === undefined ? undefined : onMeasure(first, other))}
        >
          Measure both
        </Button>
        <Button onClick={onOpenPath}>Open another path…</Button>
      </div>
    </div>
  );
}
