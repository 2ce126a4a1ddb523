/** Cards of an op before the engine answers: its name and type, and where it runs. */
import type { ReactNode } from "react";
import { deviceOf } from "../../../main/contract/views/common.ts";
import type { Device } from "../../../main/contract/views/common.ts";
import type { GraphKey } from "../../../main/contract/views/graph.ts";
import { isRouted } from "../../../main/contract/views/graph.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { groupKind, groupPart, nodeName, nodeType, opName, pathOf } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { fineShare, predictedSeconds } from "../../ui/format.ts";
import { DeviceChip, TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import styles from "./Inspector.module.css";

export interface KnownNode {
  readonly title: string;
  readonly op: string;
  readonly type: string;
  readonly device: Device | null;
  readonly workShare: number;
  readonly seconds: number;
}

/** null: the graph that is shown is another one. */
export function knownNode(
  key: GraphKey,
  node: number,
  model: GraphModel | null,
  route: RouteView | null,
): KnownNode | null {
  if (model === null || model.view.key !== key || node >= model.view.nodeCount) return null;
  const { view } = model;
  const isPlaced = isRouted(key.stage) && route?.nodes.device.length === view.nodeCount;
  const device = isPlaced ? deviceOf(route.nodes.device[node] ?? 0) : "none";
  // As the engine's answer says it, so that the title stays when that comes.
  const path = pathOf(view, node)
    .filter((group) => ["block", "part"].includes(groupKind(view, group)))
    .map((group) => groupPart(view, group));
  return {
    title: [...path, nodeName(view, node)].join(" · "),
    op: opName(view, node),
    type: nodeType(view, node),
    device: device === "none" ? null : device,
    workShare: isPlaced ? (route.nodes.work[node] ?? 0) : 0,
    seconds: isPlaced ? (route.nodes.seconds[node] ?? 0) : 0,
  };
}

export function KnownCards({ model }: { readonly model: GraphModel | null }): ReactNode {
  const selection = useSession((state) => state.selection);
  const route = useSession((state) => current(state.routes[state.phase]));
  const known = selection.kind === "node" ? knownNode(selection.key, selection.node, model, route) : null;
  if (known === null) return <Progress sentence="Looking up the op" fraction={null} />;
  const { title, op, type, device, workShare, seconds: time } = known;
  return (
    <>
      <h2 className={styles["title"]}>{title}</h2>
      <Card title="Why here?" aside={route === null || device === null ? null : <TruthMark truth={route.truth} />}>
        {device === null ? null : (
          <p className={styles["chips"]}>
            <DeviceChip device={device} />
            {workShare > 0 ? (
              <span>
                {predictedSeconds(time)}, {fineShare(workShare)} of the step
              </span>
            ) : null}
          </p>
        )}
        <Note>Looking up the reason …</Note>
      </Card>
      <Card title="Shapes and types" aside={op}>
        <Facts rows={[["result", type]]} />
      </Card>
    </>
  );
}
