/**
 * MLX as the alternative: its support for each kind of op and of weight, and the time of a step.
 */
import type { ReactNode } from "react";
import type { MlxRoute } from "../../../main/contract/views/mlx.ts";
import { useDevices } from "../../devices/useDevices.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, significant } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { MlxSign } from "./MlxSign.tsx";
import { mlxTotals, weightErrorText } from "./routing.ts";
import { useSession } from "../../session/context.tsx";
import styles from "./Route.module.css";

/** Kinds of ops that are listed: those that are not native all, of the native ones the most frequent. */
const NATIVE_SHOWN = 12;

export function MlxCard({ onNode }: { readonly onNode: (node: number) => void }): ReactNode {
  const state = useSession((s) => s.onMlx);
  const load = useSession((s) => s.loadOnMlx);
  const view = current(state);
  return (
    <Card title="And on MLX instead?" aside={view?.title} className={styles["wide"]}>
      {state.kind === "failed" ? (
        <ErrorNote title="MLX could not be looked at" error={state.error} onRetry={() => void load()} />
      ) : null}
      {view !== null ? (
        <Alternative view={view} onNode={onNode} />
      ) : state.kind === "loading" ? (
        <Progress sentence="Asking MLX’s rules about every op" fraction={null} />
      ) : (
        <div className={styles["row"]}>
          <Button small onClick={() => void load()}>
            Show what MLX would do
          </Button>
          <span className={styles["quiet"]}>
            Op by op, with its weights, and the time if this machine was measured.
          </span>
        </div>
      )}
    </Card>
  );
}

function Alternative({
  view,
  onNode,
}: {
  readonly view: MlxRoute;
  readonly onNode: (node: number) => void;
}): ReactNode {
  const phase = view.phase === "decode" ? "one token" : "one chunk";
  return (
    <>
      <p className={styles["first"]}>
        <b>{mlxTotals(view)}.</b> {view.sentence}
      </p>
      <div className={styles["tables"]}>
        <Ops view={view} onNode={onNode} />
        <div className={styles["stack"]}>
          {view.seconds === null ? (
            <NoTime view={view} />
          ) : (
            <div>
              <p>
                <TruthMark truth={view.seconds.truth} /> {phase}: <FigureText figure={view.seconds} />
              </p>
              <Facts rows={view.arithmetic.map(({ label, value }) => [label, value] as const)} />
            </div>
          )}
          {view.weights.length === 0 ? null : <Weights view={view} />}
        </div>
      </div>
    </>
  );
}

/** Why there is no time, and the way to one where measuring helps. */
function NoTime({ view }: { readonly view: MlxRoute }): ReactNode {
  const calibrating = useDevices((s) => s.calibrating);
  const calibrate = useDevices((s) => s.calibrate);
  const load = useSession((s) => s.loadOnMlx);
  return (
    <div>
      <p className={styles["quiet"]}>{view.whyNoTime}</p>
      {view.weights.length === 0 || !view.available || view.counts.unsupported > 0 ? null : calibrating !== null ? (
        <Progress sentence={calibrating} fraction={null} />
      ) : (
        <div className={styles["row"]}>
          <Button small onClick={() => void calibrate().then(load)}>
            Measure the devices
          </Button>
        </div>
      )}
    </div>
  );
}

function Ops({ view, onNode }: { readonly view: MlxRoute; readonly onNode: (node: number) => void }): ReactNode {
  const native = view.ops.filter(({ state }) => state === "native");
  const shown = [...view.ops.filter(({ state }) => state !== "native"), ...native.slice(0, NATIVE_SHOWN)];
  return (
    <div>
      <table className={table["table"]}>
        <thead>
          <tr>
            <th>op</th>
            <th>count</th>
            <th className={table["left"]}>on MLX</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={`${row.op} ${row.state} ${row.reason}`}>
              <td>
                {row.node < 0 ? (
                  row.op
                ) : (
                  <button type="button" className={styles["link"]} onClick={() => onNode(row.node)}>
                    {row.op}
                  </button>
                )}
              </td>
              <td>{count(row.count)}</td>
              <td className={table["text"]} title={row.reason}>
                <MlxSign state={row.state} />
                {row.state === "native" ? null : <span className={styles["reason"]}>{row.reason}</span>}
                {row.state === "decomposed" ? (
                  <span className={styles["reason"]}>As {row.parts.join(", ")}.</span>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {native.length > NATIVE_SHOWN ? <Note>{native.length - NATIVE_SHOWN} more kinds of ops are native.</Note> : null}
    </div>
  );
}

function Weights({ view }: { readonly view: MlxRoute }): ReactNode {
  return (
    <table className={table["table"]}>
      <thead>
        <tr>
          <th>weights</th>
          <th className={table["left"]}>on MLX</th>
          <th>held</th>
          <th>error</th>
        </tr>
      </thead>
      <tbody>
        {view.weights.map((row) => (
          <tr key={`${row.type} ${row.form}`}>
            <td>
              {row.type.toUpperCase()} ×{count(row.tensors)}
            </td>
            <td className={table["text"]}>
              {row.form}
              <span className={styles["reason"]}>{significant(row.bitsPerWeight)} bits per weight</span>
            </td>
            <td title={`${bytes(row.fileBytes)} in the file`}>{bytes(row.heldBytes.value)}</td>
            <td title={row.error === null ? undefined : `${row.error.truth}: ${row.error.basis}`}>
              {weightErrorText(row.error)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
