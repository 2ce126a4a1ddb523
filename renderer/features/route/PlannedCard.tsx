/** Predicted, planned and observed side by side: shares, segments, and the operators where prediction and plan differ. */
import type { ReactNode } from "react";
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { PlannedRoute, RouteView } from "../../../main/contract/views/route.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, share } from "../../ui/format.ts";
import { DeviceChip } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { plannedSegments, truthRows, tellsPlans } from "./routing.ts";
import { TruthWord } from "./TruthWord.tsx";
import { useSession } from "../../session/context.tsx";
import styles from "./Route.module.css";

/** Rows of segments and of differences that are drawn. */
const MANY = 12;

export function PlannedCard({ onNode }: { readonly onNode: (node: number) => void }): ReactNode {
  const route = useSession((s) => current(s.routes[s.phase]));
  const state = useSession((s) => s.planned);
  const coreml = useSession((s) => current(s.info)?.devices.find(tellsPlans));
  const profile = useSession((s) => s.profiled);
  const isGraph = useSession((s) => isGraphAlone(current(s.model)?.kind ?? "model"));
  const load = useSession((s) => s.loadPlanned);
  const stop = useSession((s) => s.stopPlanned);
  const planned = current(state);
  return (
    <Card title="Predicted, planned, observed" aside={planned?.machine} className={styles["wide"]}>
      <dl className={styles["truths"]}>
        {truthRows(route, state, coreml, { profile, isGraph }).map(({ truth, here, sentence, simulated }) => (
          <div key={truth} data-here={here}>
            <dt>
              <TruthWord truth={truth} simulated={simulated} />
            </dt>
            <dd>{sentence}</dd>
          </div>
        ))}
      </dl>
      {state.kind === "failed" ? (
        <ErrorNote title="Core ML gave no plan" error={state.error} onRetry={() => void load()} />
      ) : null}
      {state.kind === "loading" ? (
        <div className={styles["waiting"]}>
          <Progress sentence="Compiling the package and asking Core ML" fraction={null} />
          <Button small onClick={stop}>
            Stop
          </Button>
        </div>
      ) : coreml?.available === true ? (
        <div className={styles["row"]}>
          <Button small onClick={() => void load()}>
            {planned === null ? "Ask Core ML for its plan" : "Ask again"}
          </Button>
        </div>
      ) : null}
      {planned === null || route === null ? null : <Plan route={route} planned={planned} onNode={onNode} />}
    </Card>
  );
}

interface PlanProps {
  readonly route: RouteView;
  readonly planned: PlannedRoute;
  readonly onNode: (node: number) => void;
}

function Plan({ route, planned, onNode }: PlanProps): ReactNode {
  if (planned.refusal !== null) return <Note>{planned.refusal}</Note>;
  return (
    <>
      <FirstDifference planned={planned} onNode={onNode} />
      <div className={styles["tables"]}>
        <Shares planned={planned} />
        <Segments route={route} planned={planned} onNode={onNode} />
      </div>
      <Differences planned={planned} onNode={onNode} />
    </>
  );
}

function FirstDifference({ planned, onNode }: Omit<PlanProps, "route">): ReactNode {
  const first = planned.firstDifference;
  if (first === null)
    return (
      <p className={styles["first"]} role="status">
        Prediction and plan agree on all {count(planned.agreeing)} operators that the plan tells of.
      </p>
    );
  return (
    <p className={cx(styles["first"], styles["mismatch"])} role="alert">
      <b>The first difference: {first.op}</b> ({first.output}), planned on {deviceLook(first.planned).name}, predicted
      on {deviceLook(first.predicted).name}. Our reason: {first.sentence}{" "}
      {first.node < 0 ? null : (
        <button type="button" className={styles["link"]} onClick={() => onNode(first.node)}>
          Show this op
        </button>
      )}
    </p>
  );
}

function Shares({ planned }: { readonly planned: PlannedRoute }): ReactNode {
  return (
    <table className={table["table"]}>
      <thead>
        <tr>
          <th>device</th>
          <th>predicted</th>
          <th>planned</th>
        </tr>
      </thead>
      <tbody>
        {planned.shares
          .filter((row) => row.predicted > 0 || row.planned > 0)
          .map((row) => (
            <tr key={row.device}>
              <td>
                <DeviceChip device={row.device} />
              </td>
              <td>{share(row.predicted)}</td>
              <td>{share(row.planned)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function Segments({ route, planned, onNode }: PlanProps): ReactNode {
  const rows = plannedSegments(route, planned);
  if (rows === undefined) return null;
  return (
    <table className={table["table"]}>
      <thead>
        <tr>
          <th>segment</th>
          <th className={table["left"]}>predicted</th>
          <th className={table["left"]}>planned</th>
          <th>agree</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MANY).map((row) => (
          <tr key={row.index}>
            <td>
              <button type="button" className={styles["link"]} onClick={() => onNode(row.firstNode)}>
                {row.index + 1}
              </button>
            </td>
            <td className={table["left"]}>
              <DeviceChip device={row.predicted}>{deviceLook(row.predicted).short}</DeviceChip>
            </td>
            <td className={table["left"]}>
              {row.planned.length === 0
                ? "not in the plan"
                : row.planned.map(({ device, ops }) => `${deviceLook(device).short} ${count(ops)}`).join(", ")}
            </td>
            <td>{row.told === 0 ? "–" : `${count(row.agreeing)} of ${count(row.told)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Differences({ planned, onNode }: Omit<PlanProps, "route">): ReactNode {
  const rest = planned.differences.filter(({ output }) => output !== planned.firstDifference?.output);
  if (rest.length === 0) return null;
  return (
    <details className={styles["more"]}>
      <summary>
        {count(planned.differing - 1)} more {planned.differing === 2 ? "operator" : "operators"} planned elsewhere
      </summary>
      <ul>
        {rest.slice(0, MANY).map((op) => (
          <li key={`${op.node} ${op.output}`}>
            {op.node < 0 ? (
              <b>{op.op}</b>
            ) : (
              <button type="button" className={styles["link"]} onClick={() => onNode(op.node)}>
                {op.op}
              </button>
            )}{" "}
            {op.output}: planned {deviceLook(op.planned).short}, predicted {deviceLook(op.predicted).short}.{" "}
            <span>{op.sentence}</span>
          </li>
        ))}
      </ul>
      {planned.differing - 1 > MANY ? (
        <Note>The first {MANY} are listed; the graph shows all of them in the colours of the plan.</Note>
      ) : null}
    </details>
  );
}
