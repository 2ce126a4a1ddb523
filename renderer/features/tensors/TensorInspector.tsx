/** Beside the tensor table: the chosen tensor in full, and the ops that read it. */
import type { ReactNode } from "react";
import { useEffect, useMemo, useState } from "react";
import { backendTitle } from "../../../main/contract/views/graph.ts";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import { groupName, nodeName, opName, pathOf } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, plural, shape, share, significant } from "../../ui/format.ts";
import type { AgainstSlice } from "./againstSlice.ts";
import { DifferenceCard } from "./DifferenceCard.tsx";
import { NumbersCards } from "./NumbersCards.tsx";
import { readersOf } from "./readers.ts";
import type { TensorsSlice } from "./slice.ts";
import { useHeldQuestion } from "./useRows.ts";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

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
      <HeldCard tensor={tensor} />
      <Compared tensor={tensor.name} />
      <NumbersCards tensor={tensor} />
      <Readers tensor={tensor.name} onNode={onNode} />
    </>
  );
}

/** What the comparison of the whole file says of it; its own statistics say the same where they were read against that file. */
function Compared({ tensor }: { readonly tensor: string }): ReactNode {
  const comparison = useTensors((state) => state.against);
  const read = useTensors((state) => current(state.statistics));
  const found = comparison?.errors.get(tensor);
  if (comparison === null || (read?.tensor === tensor && read.difference !== null)) return null;
  if (found !== undefined)
    return <DifferenceCard file={comparison.report.file} difference={{ ...found, type: found.theirs }} />;
  const why = comparison.report.left.find((each) => each.tensor === tensor)?.why;
  return why === undefined ? null : (
    <Card title="Against the other file" level={2}>
      <p>Cannot be compared: {why}.</p>
    </Card>
  );
}

/** How the subject of the window holds it: asked again when that changes. */
function HeldCard({ tensor }: { readonly tensor: TensorRow }): ReactNode {
  const ask = useSession((state) => state.askTensors);
  const model = useSession((state) => current(state.model)?.model ?? null);
  const question = useHeldQuestion();
  const [row, setRow] = useState<TensorRow | null>(null);
  useEffect(() => {
    if (model === null || question === null) return undefined;
    let isCurrent = true;
    ask({ model, query: tensor.name.slice(0, 200), held: question, limit: 1000 }).then(
      ({ rows }) => {
        if (isCurrent) setRow(rows.find(({ name }) => name === tensor.name) ?? null);
      },
      () => {
        if (isCurrent) setRow(null);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [ask, model, question, tensor.name]);
  const held = row?.name === tensor.name ? row.held : null;
  if (held === null || question === null) return null;
  const bits = tensor.parameters === 0 ? 0 : (8 * held.bytes) / tensor.parameters;
  return (
    <Card title="On the device" aside={backendTitle(question.subject.backend)} level={2}>
      <Facts
        rows={[
          ["held as", held.form],
          ["bytes", `${count(held.bytes)} (${bytes(held.bytes)})`],
          ["bits each", significant(bits)],
          ...(tensor.bytes === 0 ? [] : ([["of the file’s", share(held.bytes / tensor.bytes)]] as const)),
        ]}
      />
    </Card>
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
