/** Which stage of the graph is shown: of which backend, as the file builds it, before or after a pass, or legal. */
import type { ReactNode } from "react";
import { BACKENDS, BUILT, isRouted, LEGAL } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { isPlacing } from "./graphState.ts";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function StageField(): ReactNode {
  const stage = useGraph((s) => s.graphStage);
  const setStage = useGraph((s) => s.setGraphStage);
  const passes = useGraph((s) => s.passChoices);
  const passBackend = useGraph((s) => s.passBackend);
  const placing = useGraph(isPlacing);
  const isModel = useGraph((s) => current(s.model)?.canGraph.ok === true);
  if (!isModel) return null;
  const isShown = (backend: string, step: string): boolean => stage.backend === backend && stage.step === step;
  // A backend's passes are listed once its stage was chosen.
  const choices = BACKENDS.flatMap(({ backend, title }) => {
    const listed = passes.filter(({ changed, name }) => passBackend === backend && (changed || isShown(backend, name)));
    const steps = [BUILT, ...listed.map(({ name }) => name), LEGAL];
    return steps.map((step) => ({ backend, title, step, value: `${backend} ${step}` }));
  });
  const text = ({ backend, step }: (typeof choices)[number]): string => {
    if (step === BUILT) return "As the file builds it";
    if (step === LEGAL) return placing && isRouted({ backend, step }) ? "Legal, being placed …" : "Legal";
    return `${isShown(backend, step) && stage.side === "before" ? "Before" : "After"} ${step}`;
  };
  const choose = (value: string): void => {
    const choice = choices.find((each) => each.value === value);
    if (choice !== undefined) setStage({ backend: choice.backend, step: choice.step, side: "after" });
  };
  return (
    <label className={styles["stage"]}>
      <span className="visually-hidden">Stage of the graph</span>
      <select value={`${stage.backend} ${stage.step}`} onChange={(event) => choose(event.target.value)}>
        {BACKENDS.map(({ backend, title }) => (
          <optgroup key={backend} label={title}>
            {choices
              .filter((choice) => choice.backend === backend)
              .map((choice) => (
                <option key={choice.value} value={choice.value}>
                  {text(choice)}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}
