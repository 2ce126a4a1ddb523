/** One segment beside the plan: how many of its operators the system plans where we predicted them. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { ROUTED } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { Card } from "../../ui/Card.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Facts } from "../../ui/Facts.tsx";
import { count } from "../../ui/format.ts";
import { DeviceChip } from "../../ui/marks.tsx";
import { plannedSegments } from "./routing.ts";
import { TruthWord } from "./TruthWord.tsx";
import { useSession } from "../../session/context.tsx";

export function SegmentPlan({ index }: { readonly index: number }): ReactNode {
  const route = useSession((s) => current(s.routes[s.phase]));
  const planned = useSession((s) => current(s.planned));
  const rows = useMemo(
    () => (route?.backend !== ROUTED.backend || planned === null ? undefined : plannedSegments(route, planned)),
    [route, planned],
  );
  const row = rows?.[index];
  if (row === undefined) return null;
  return (
    <Card title="Planned" aside={<TruthWord truth="planned" />}>
      <Facts
        rows={[
          ["predicted", <DeviceChip key="predicted" device={row.predicted} />],
          [
            "planned",
            row.planned.length === 0
              ? "not in the plan"
              : row.planned.map(({ device, ops }) => `${deviceLook(device).short} ${count(ops)}`).join(", "),
          ],
          ["as predicted", row.told === 0 ? "–" : `${count(row.agreeing)} of ${count(row.told)}`],
        ]}
      />
    </Card>
  );
}
