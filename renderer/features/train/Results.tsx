/** What a run wrote, and what can be done with it at once. */
import type { ReactNode } from "react";
import type { TrainResult } from "../../../main/contract/views/train.ts";
import { fileName } from "../../../main/contract/views/session.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { bytes } from "../../ui/format.ts";
import { FileOut } from "../../writing/FileOut.tsx";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

const WHAT: Readonly<Record<TrainResult["what"], string>> = {
  weights: "Weights",
  adapter: "Adapter",
  checkpoint: "Checkpoint",
  model: "Model",
};

const OPENS = { no: null, model: "Open the result", adapter: "Open with its model" } as const;

export function Results({ results }: { readonly results: readonly TrainResult[] }): ReactNode {
  const open = useTrain((s) => s.openTrained);
  const show = useTrain((s) => s.showInFolder);
  if (results.length === 0) return null;
  return (
    <ul className={styles["results"]} aria-label="What was written">
      {results.map((result) => {
        const { what, path, bytes: size, opens, sentence } = result;
        const words = OPENS[opens];
        return (
          <li key={path}>
            <p>
              <b>{WHAT[what]}</b>{" "}
              <code className={styles["file"]} title={path}>
                {fileName(path)}
              </code>{" "}
              <span>{bytes(size)}</span>
            </p>
            <p className={styles["says"]}>{sentence}</p>
            <div className={styles["actions"]}>
              {words === null ? null : (
                <Button small look="primary" onClick={() => void open(result)}>
                  {words}
                </Button>
              )}
              {show === null ? null : (
                <Button small onClick={() => show(path)}>
                  Show in the folder
                </Button>
              )}
              <CopyButton label="Copy the path" text={() => path} />
              <FileOut file={{ paths: [path] }} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}
