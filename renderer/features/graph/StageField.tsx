/** Which stage of the graph is shown: as the file builds it, before or after a pass, or legal for the target. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import type { StageChoice } from "./graphState.ts";
import { isPlacing } from "./graphState.ts";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function StageField(): ReactNode {
  const stage = useGraph((s) => s.graphStage);
  const setStage = useGraph((s) => s.setGraphStage);
  const passes = useGraph((s) => s.passChoices);
  const placing = useGraph(isPlacing);
  const isModel = useGraph((s) => current(s.model)?.canGraph.ok === true);
  if (!isModel) return null;
  const listed = passes.filter(({ changed, index }) => changed || (stage.kind === "pass" && stage.index === index));
  const value = stage.kind === "pass" ? `pass ${stage.index}` : stage.kind;
  const choose = (id: string): void => {
    const next: StageChoice = id.startsWith("pass ")
      ? { kind: "pass", index: Number(id.slice(5)), side: "after" }
      : id === "initial"
        ? { kind: "initial" }
        : { kind: "legal" };
    setStage(next);
  };
  return (
    <label className={styles["stage"]}>
      <span className="visually-hidden">Stage of the graph</span>
      <select value={value} onChange={(event) => choose(event.target.value)}>
        <option value="initial">As the file builds it</option>
        {listed.length === 0 ? null : (
          <optgroup label="Passes of the CPU program">
            {listed.map(({ index, name }) => (
              <option key={index} value={`pass ${index}`}>
                {stage.kind === "pass" && stage.index === index && stage.side === "before" ? "Before" : "After"} {name}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="For Core ML, without these fusions">
          <option value="legal">{placing ? "Legal, being placed …" : "Legal for the target"}</option>
        </optgroup>
      </select>
    </label>
  );
}
