/** Which stage of the subject's graph is shown: as the file builds it, before or after a pass, or legal for the runtime. */
import type { ReactNode } from "react";
import { backendTitle, BUILT, isRouted, LEGAL } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { isPlacing } from "../../drawing/pictureState.ts";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function StageField(): ReactNode {
  const stage = useGraph((s) => s.graphStage);
  const setStage = useGraph((s) => s.setGraphStage);
  const passes = useGraph((s) => s.passChoices);
  const backend = useGraph((s) => s.backend);
  const placing = useGraph(isPlacing);
  const isModel = useGraph((s) => current(s.model)?.canGraph.ok === true);
  if (!isModel) return null;
  const listed = passes.filter(({ changed, name }) => changed || name === stage.step);
  const known = new Set([BUILT, ...listed.map(({ name }) => name), LEGAL]);
  // The passes come after the graph: until then the chosen one stands alone.
  const steps = known.has(stage.step) ? [...known] : [BUILT, stage.step, LEGAL];
  const text = (step: string): string => {
    if (step === BUILT) return "As the file builds it";
    if (isRouted({ step })) return `Legal for ${backendTitle(backend)}${placing ? ", being placed …" : ""}`;
    return `${stage.step === step && stage.side === "before" ? "Before" : "After"} ${step}`;
  };
  return (
    <label className={styles["stage"]}>
      <span className="visually-hidden">Stage of the graph</span>
      <select value={stage.step} onChange={(event) => setStage({ step: event.target.value, side: "after" })}>
        {steps.map((step) => (
          <option key={step} value={step}>
            {text(step)}
          </option>
        ))}
      </select>
    </label>
  );
}
