/** Runs that are kept on this machine; those that are ticked stand side by side. */
import { X } from "lucide-react";
import type { ReactNode } from "react";
import type { TrainRow, TrainRun } from "../../../main/contract/views/train.ts";
import { current } from "../../session/async.ts";
import { IconButton } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, duration, plural } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { ComparedRuns } from "./ComparedRuns.tsx";
import { useTrain } from "./useTrain.ts";
import { lossText, STATES } from "./words.ts";
import styles from "./Train.module.css";

export function Runs(): ReactNode {
  const state = useTrain((s) => s.trainRuns);
  const load = useTrain((s) => s.loadTrainRuns);
  const shown = useTrain((s) => s.shownRuns);
  const details = useTrain((s) => s.runDetails);
  const list = current(state);
  if (state.kind === "failed")
    return <ErrorNote title="The runs could not be listed" error={state.error} onRetry={() => void load()} />;
  if (list === null) return null;
  const { runs, damaged } = list;
  const looked = shown.flatMap((id): readonly TrainRun[] => (details[id] === undefined ? [] : [details[id]]));
  return (
    <Card title="Runs" aside={runs.length === 0 ? "" : "tick some to see them side by side"}>
      {runs.length === 0 ? (
        <Empty title="Nothing was trained yet">
          Choose what to train above. Its curves, settings and results are kept here until they are forgotten.
        </Empty>
      ) : (
        <div className={styles["scroll"]}>
          <table className={cx(table["table"], styles["runs"])} aria-label="Runs, the newest first">
            <thead>
              <tr>
                <th className={styles["tick"]}>
                  <span className="visually-hidden">side by side</span>
                </th>
                <th className={table["left"]}>run</th>
                <th className={table["left"]}>state</th>
                <th>steps</th>
                <th>loss</th>
                <th>validation</th>
                <th className={styles["wide"]}>time</th>
                <th>
                  <span className="visually-hidden">forget</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.map((row) => (
                <Row key={row.run} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {damaged === 0 ? null : <Note>{plural(damaged, "run")} cannot be read, and is left as it is.</Note>}
      {looked.length === 0 ? null : <ComparedRuns runs={looked} />}
    </Card>
  );
}

const timeOf = (at: number): string =>
  new Date(at).toLocaleString([], {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    hour12: false,
  });

const isRunning = ({ state }: TrainRow): boolean => state === "running" || state === "paused";

function Row({ row }: { readonly row: TrainRow }): ReactNode {
  const ticked = useTrain((s) => s.shownRuns.includes(row.run));
  const toggle = useTrain((s) => s.toggleTrainRun);
  const forget = useTrain((s) => s.forgetTrainRun);
  const { run, title, at, state, step, steps, loss, validation, seconds, problem } = row;
  const name = `${title}, ${timeOf(at)}`;
  return (
    <tr data-ticked={ticked}>
      <td>
        <input
          type="checkbox"
          aria-label={`Show ${name} side by side`}
          checked={ticked}
          onChange={() => void toggle(run)}
        />
      </td>
      <td className={table["text"]}>
        {title} <span className={styles["says"]}>{timeOf(at)}</span>
      </td>
      <td className={table["left"]} title={problem ?? undefined}>
        {STATES[state]}
      </td>
      <td>{step === steps ? count(step) : `${count(step)} of ${count(steps)}`}</td>
      <td>{lossText(loss)}</td>
      <td>{lossText(validation)}</td>
      <td className={styles["wide"]}>{duration(Math.round(seconds))}</td>
      <td>
        {isRunning(row) ? null : (
          <IconButton label={`Forget ${name}`} onClick={() => void forget(run)}>
            <X size={13} aria-hidden="true" />
          </IconButton>
        )}
      </td>
    </tr>
  );
}
