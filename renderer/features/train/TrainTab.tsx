/** Training: what is to be trained, how the run goes, and the runs before it. */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useRef } from "react";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Progress } from "../../ui/states.tsx";
import { Choose } from "./Choose.tsx";
import { Runs } from "./Runs.tsx";
import { isOver } from "./live.ts";
import { RunCard } from "./RunCard.tsx";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export function TrainTab(): ReactNode {
  const recipes = useTrain((s) => s.trainRecipes);
  const load = useTrain((s) => s.loadTrainRecipes);
  const loadRuns = useTrain((s) => s.loadTrainRuns);
  const start = useTrain((s) => s.startTraining);
  const run = useTrain((s) => s.trainRun);
  const formShown = useTrain((s) => s.trainFormShown);
  useEffect(() => {
    void load();
    void loadRuns();
  }, [load, loadRuns]);
  const place = useRef<HTMLDivElement>(null);
  const since = run?.since;
  // A run begins at the top, wherever its button was pressed.
  useEffect(() => {
    if (place.current !== null) place.current.scrollTop = 0;
  }, [since, formShown]);
  const goesOn = run !== null && !isOver(run);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    // The window has the same key for its Run.
    event.stopPropagation();
    void start();
  };
  return (
    <div ref={place} className={styles["tab"]} onKeyDown={onKey}>
      {recipes.kind === "failed" ? (
        <ErrorNote title="What can be trained could not be asked" error={recipes.error} onRetry={() => void load()} />
      ) : recipes.kind !== "ready" ? (
        <Progress sentence="Asking what can be trained here" fraction={null} />
      ) : goesOn || !formShown ? null : (
        <Choose />
      )}
      {run === null ? null : <RunCard run={run} />}
      <Runs />
    </div>
  );
}
