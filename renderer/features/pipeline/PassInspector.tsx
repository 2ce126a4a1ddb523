/** The chosen pass: its reason, its effect, its near misses; and the op under the cursor. */
import type { ReactNode } from "react";
import { BUILT } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { count, signed } from "../../ui/format.ts";
import { FigureText } from "../../ui/marks.tsx";
import type { LaneSlice } from "./laneSlice.ts";
import type { PipelineSlice } from "./slice.ts";
import styles from "./Pipeline.module.css";

const usePipeline = sliceHook<PipelineSlice & LaneSlice>();
const MAX_MISSES = 30;

export interface PassInspectorProps {
  readonly onNode: (node: number) => void;
  /** Opens the graph at a pass. */
  readonly onGraph: (pass: string) => void;
}

export function PassInspector({ onNode, onGraph }: PassInspectorProps): ReactNode {
  const list = usePipeline((s) => current(s.passes));
  const at = usePipeline((s) => s.passAt);
  const node = usePipeline((s) => (s.selection.kind === "node" ? current(s.node) : null));
  // As built there is no pass to speak of.
  const isBuilt = usePipeline((s) => s.stepShown === BUILT);
  const pass = isBuilt ? undefined : list?.passes.find(({ name }) => name === at);
  return (
    <>
      {pass === undefined ? null : (
        <>
          <h2 className={styles["title"]}>{pass.name}</h2>
          <Card title="Why it is there">
            <p>{pass.reason}</p>
          </Card>
          <Card title="What it did" aside={pass.changed ? undefined : "nothing, here"}>
            <Facts
              rows={[
                ["matches", count(pass.hits)],
                ["ops before", count(pass.opsBefore)],
                ["ops after", `${count(pass.opsAfter)} (${signed(pass.opsAfter - pass.opsBefore)})`],
                ["time", <FigureText key="time" figure={pass.time} />],
              ]}
            />
            {pass.changed ? (
              <div className={styles["buttons"]}>
                <Button small onClick={() => onGraph(pass.name)}>
                  Show in the graph
                </Button>
              </div>
            ) : null}
          </Card>
          {pass.misses.length === 0 ? null : (
            <Card title="Where it nearly matched" aside={count(pass.misses.length)}>
              <ul className={styles["misses"]}>
                {pass.misses.slice(0, MAX_MISSES).map((miss, i) => (
                  <li key={i}>
                    {miss.node === null ? (
                      <b>{miss.where}</b>
                    ) : (
                      <button type="button" onClick={() => miss.node !== null && onNode(miss.node)}>
                        {miss.where}
                      </button>
                    )}
                    <p>{miss.why}</p>
                  </li>
                ))}
              </ul>
              {pass.misses.length > MAX_MISSES ? (
                <Note>And {count(pass.misses.length - MAX_MISSES)} more of the same kind.</Note>
              ) : null}
            </Card>
          )}
        </>
      )}
      {node === null ? null : (
        <Card title={`${node.op} ${node.name}`}>
          <p>{node.path}</p>
          <button type="button" className={styles["link"]} onClick={() => onNode(node.node)}>
            Show in the graph
          </button>
        </Card>
      )}
    </>
  );
}
