/** The ghost of a route: what a change would make of it, drawn under the real one; as much shorter as it is faster. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { deviceOf } from "../../../main/contract/views/common.ts";
import { useSession } from "../../session/context.tsx";
import type { Ghost } from "../../session/sessionSlice.ts";
import { seconds } from "../../ui/format.ts";
import { deviceFill, waitFill } from "../../ui/patterns.tsx";
import type { RibbonWidth } from "../../graph/ribbonGeometry.ts";
import { ribbonParts } from "../../graph/ribbonGeometry.ts";
import { routeWaits } from "./routing.ts";
import styles from "./Ribbon.module.css";

interface GhostBandProps {
  readonly ghost: Ghost;
  readonly width: number;
  readonly by: RibbonWidth;
  readonly y: number;
  readonly height: number;
}

export function GhostBand({ ghost, width, by, y, height }: GhostBandProps): ReactNode {
  const { route, before, after } = ghost;
  const long = width * Math.min(1, after.value / before.value);
  const { rects, gaps } = useMemo(() => ribbonParts(route.runs, long, by, routeWaits(route)), [route, long, by]);
  const waits = gaps.map((gap) => (
    <rect
      key={`wait ${gap.x}`}
      x={gap.x + 0.5}
      y={y}
      width={Math.max(1.2, gap.width - 1)}
      height={height}
      rx={1}
      fill={waitFill(gap.kind)}
    />
  ));
  const work = rects.map((rect) => (
    <rect
      key={rect.firstNode}
      x={rect.x + 0.5}
      y={y}
      width={Math.max(1.2, rect.width - 1)}
      height={height}
      rx={1}
      fill={deviceFill(deviceOf(rect.device))}
      opacity={0.75}
    />
  ));
  return (
    <>
      {work}
      {waits}
    </>
  );
}

export function GhostSummary(): ReactNode {
  const ghost = useSession((state) => state.ghost);
  const show = useSession((state) => state.showGhost);
  if (ghost === null) return null;
  const { title, before, after } = ghost;
  return (
    <button type="button" className={styles["summary"]} title={`${title}: end the preview`} onClick={() => show(null)}>
      <span>
        preview: <b>~{seconds(after.value)}</b> instead of ~{seconds(before.value)} ✕
      </span>
    </button>
  );
}
