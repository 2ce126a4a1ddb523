/** What a step that is no pass did: its sentence, and a table of ops with their verdicts or of segments with their devices. */
import type { ReactNode } from "react";
import { BUILT, SEGMENT, stepTitle } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { count } from "../../ui/format.ts";
import { Empty, Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import type { LaneSlice } from "./laneSlice.ts";
import type { PipelineSlice } from "./slice.ts";
import styles from "./Pipeline.module.css";

const useStep = sliceHook<LaneSlice & PipelineSlice>();

const HEADS = { op: ["Op", "Runs", "Ops", "Why"], segment: ["Segment", "Device", "Ops", "Why"] } as const;

export function StepTable(): ReactNode {
  const name = useStep((s) => s.stepShown);
  const backend = useStep((s) => s.backend);
  const step = useStep((s) => current(s.lane)?.steps.find((each) => each.name === s.stepShown));
  if (name === BUILT)
    return (
      <Empty title="This is the graph as built">
        It comes before the first pass: there is nothing to compare it with.
      </Empty>
    );
  if (step === undefined || step.numbers === null)
    return <Progress sentence={`Working out: ${stepTitle(backend, name)}`} fraction={null} />;
  const heads = name === SEGMENT ? HEADS.segment : HEADS.op;
  return (
    <div className={styles["step"]} role="region" aria-label={stepTitle(backend, name)} tabIndex={0}>
      <p>{step.says}</p>
      <table className={table["table"]}>
        <thead>
          <tr>
            {heads.map((head, i) => (
              <th key={head} scope="col" className={i === 2 ? undefined : table["left"]}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {step.details.map((row, i) => (
            <tr key={i}>
              <td>{row.name}</td>
              <td className={table["left"]}>{row.what}</td>
              <td>{count(row.count)}</td>
              <td className={table["text"]}>{row.why}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
