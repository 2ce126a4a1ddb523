/** The tab where no model is open, and so no inspector: what that would show stands beside it. */
import type { ReactNode } from "react";
import { TrainInspector } from "./TrainInspector.tsx";
import { TrainTab } from "./TrainTab.tsx";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export function TrainPage(): ReactNode {
  const isLive = useTrain((s) => (s.trainRun?.started ?? null) !== null);
  return (
    <div className={styles["page"]} data-live={isLive}>
      <TrainTab />
      {isLive ? (
        <aside className={styles["beside"]} aria-label="The run, live" tabIndex={0}>
          <TrainInspector>{null}</TrainInspector>
        </aside>
      ) : null}
    </div>
  );
}
