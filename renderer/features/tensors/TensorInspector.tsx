/** Beside the tensor table: the chosen tensor in full, and the ops that read it. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import { groupName, nodeName, opName, pathOf } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, plural, shape, significant } from "../../ui/format.ts";
import { NumbersCards } from "./NumbersCards.tsx";
import { readersOf } from "./readers.ts";
import styles from "./Tensors.module.css";

export interface TensorInspectorProps {
  readonly tensor: TensorRow;
  /** Opens the graph at a node of the legal graph. */
  readonly onNode: (node: number) => void;
}

export function TensorInspector({ tensor, onNode }: TensorInspectorProps): ReactNode {
  return (
    <>
      <Card title={tensor.name} level={2}>
        <Facts
          rows={[
            ["type", tensor.type],
            ["shape", shape(tensor.shape)],
            ["parameters", count(tensor.parameters)],
            ["bits each", significant(tensor.bitsPerWeight)],
            ["bytes", `${count(tensor.bytes)} (${bytes(tensor.bytes)})`],
            ["offset", count(tensor.offset)],
            ...(tensor.part > 0 ? ([["part", String(tensor.part + 1)]] as const) : []),
            ...(tensor.layer === null ? [] : ([["layer", String(tensor.layer)]] as const)),
          ]}
        />
      </Card>
      <NumbersCards tensor={tensor} />
      <Readers tensor={tensor.name} onNode={onNode} />
    </>
  );
}

/** At most this many are listed. */
const SHOWN = 8;

function Readers({ tensor, onNode }: { readonly tensor: string; readonly onNode: (node: number) => void }): ReactNode {
  const graph = useSession((state) => current(state.graph));
  const readers = useMemo(() => (graph === null ? [] : readersOf(graph, tensor)), [graph, tensor]);
  if (graph === null) return null;
  const { view } = graph;
  return (
    <Card title="Read by" aside={readers.length === 0 ? undefined : plural(readers.length, "op")} level={2}>
      {readers.length === 0 ? <p>No op of the graph reads it as it is.</p> : null}
      <ul className={styles["readers"]}>
        {readers.slice(0, SHOWN).map((node) => (
          <li key={node}>
            <button type="button" className={styles["link"]} title="Show in the graph" onClick={() => onNode(node)}>
              {opName(view, node)} {nodeName(view, node)}
            </button>{" "}
            <span>
              {pathOf(view, node)
                .slice(1)
                .map((group) => groupName(view, group))
                .join(" · ")}
            </span>
          </li>
        ))}
      </ul>
      {readers.length > SHOWN ? <Note>And {plural(readers.length - SHOWN, "other op")}.</Note> : null}
    </Card>
  );
}
