/** One op beyond the prediction: the system's plan, the observation, and MLX. */
import type { ReactNode } from "react";
import type { NodeView } from "../../../main/contract/views/graph.ts";
import { isRouted, ROUTED } from "../../../main/contract/views/graph.ts";
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { DeviceChip } from "../../ui/marks.tsx";
import { MlxSign } from "./MlxSign.tsx";
import type { NodeTruths, TruthRow } from "./routing.ts";
import { nodeTruths, truthRows, tellsPlans } from "./routing.ts";
import { TruthWord } from "./TruthWord.tsx";
import { useSession } from "../../session/context.tsx";
import styles from "./Route.module.css";

/** Operators of one op that are listed. */
const MANY = 3;

export function NodeRouteCard({ node }: { readonly node: NodeView }): ReactNode {
  const route = useSession((s) => current(s.routes[s.phase]));
  const plan = useSession((s) => s.planned);
  const planned = current(plan);
  const onMlx = useSession((s) => current(s.onMlx));
  const coreml = useSession((s) => current(s.info)?.devices.find(tellsPlans));
  const profile = useSession((s) => s.profiled);
  const isGraph = useSession((s) => isGraphAlone(current(s.model)?.kind ?? "model"));
  const loadOnMlx = useSession((s) => s.loadOnMlx);
  if (node.key.stage.backend !== ROUTED.backend) return null;
  // The columns speak of the legal graph; a node of another stage has one there that stands for it.
  const legal = isRouted(node.key.stage) ? node.node : node.routed;
  if (legal === null) return null;
  const own = planned?.differences.filter((op) => op.node === legal) ?? [];
  // What is not placed can still have operators of its own, such as the cast of an input.
  if (node.placement === null && own.length === 0) return null;
  const truths = nodeTruths(legal, route, planned, onMlx);
  const rows = truthRows(route, plan, coreml, { profile, isGraph });
  return (
    <Card title="Predicted, planned, observed">
      <dl className={styles["truths"]}>
        {rows.map((row) => (
          <div key={row.truth} data-here={row.here} title={row.sentence}>
            <dt>
              <TruthWord truth={row.truth} simulated={row.simulated} />
            </dt>
            <dd>{said(truths, row)}</dd>
          </div>
        ))}
      </dl>
      {own.slice(0, MANY).map((op) => (
        <p key={op.output} className={styles["mismatch"]} role="status">
          {op.op}: planned on {deviceLook(op.planned).name}, predicted on {deviceLook(op.predicted).name}. Our reason:{" "}
          {op.sentence}
        </p>
      ))}
      {own.length > MANY ? <Note>And {own.length - MANY} more of its operators.</Note> : null}
      {truths.differs && own.length === 0 ? (
        <p className={styles["mismatch"]} role="status">
          Planned on {deviceLook(truths.planned).name}, predicted on {deviceLook(truths.predicted).name}: the reason
          above is ours, and the system chose otherwise.
        </p>
      ) : null}
      <div className={styles["onMlx"]}>
        <b>On MLX</b>{" "}
        {truths.mlx === null ? (
          <button type="button" className={styles["link"]} onClick={() => void loadOnMlx()}>
            Show what MLX would do
          </button>
        ) : (
          <MlxSign state={truths.mlx.state} />
        )}
        {truths.mlx === null || truths.mlx.reason === "" ? null : <Note>{truths.mlx.reason}</Note>}
      </div>
    </Card>
  );
}

function said({ predicted, planned }: NodeTruths, { truth, brief }: TruthRow): ReactNode {
  const device = truth === "predicted" ? predicted : truth === "planned" ? planned : "none";
  if (device !== "none") return <DeviceChip device={device}>{deviceLook(device).short}</DeviceChip>;
  return truth === "predicted" ? "not placed by itself" : brief;
}
