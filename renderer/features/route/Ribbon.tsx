/** The route ribbon, on every tab: the program in execution order by device, with the weakest truth it rests on. */
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import { memo, useMemo, useState } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import { deviceOf } from "../../../main/contract/views/common.ts";
import { ROUTED } from "../../../main/contract/views/graph.ts";
import type { HopView, RouteView, SegmentView } from "../../../main/contract/views/route.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { nodeName, opName } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { approximate, bytes, plural, seconds, share } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { deviceFill, WaitSwatch, waitFill } from "../../ui/patterns.tsx";
import { useSize } from "../../ui/useSize.ts";
import type { RibbonGap, RibbonRect, RibbonWidth } from "../../graph/ribbonGeometry.ts";
import { GhostBand, GhostSummary } from "./Ghost.tsx";
import { TruthWord } from "./TruthWord.tsx";
import { rectAt, ribbonNotches, ribbonParts, segmentExtents } from "../../graph/ribbonGeometry.ts";
import { plannedRuns, routeWaits } from "./routing.ts";
import styles from "./Ribbon.module.css";

const HEIGHT = 16;
/** Of the prediction, where a plan stands below it. */
const PREDICTED_HEIGHT = 9;
/** Narrower segments have no room for their time. */
const ROOM_FOR_TIME = 68;

export function Ribbon(): ReactNode {
  const phase = useSession((state) => state.phase);
  const state = useSession((session) => session.routes[session.phase]);
  const overview = useSession((session) => current(session.model));
  const isGhost = useSession((session) => session.ghost !== null);
  const [by, setBy] = useState<RibbonWidth>("work");
  const route = current(state);
  const unit =
    overview !== null && isGraphAlone(overview.kind) ? "per run" : phase === "decode" ? "per token" : "per chunk";
  return (
    <section className={styles["ribbon"]} aria-label="Route">
      <h2 className={styles["title"]}>Route</h2>
      {route === null ? (
        <p
          className={cx(styles["text"], state.kind === "loading" && styles["waiting"])}
          title={overview === null || overview.canGraph.ok ? undefined : overview.canGraph.sentence}
        >
          {state.kind === "failed"
            ? `No route: ${state.error.message}`
            : overview !== null && !overview.canGraph.ok
              ? "None: this file has no graph here."
              : state.kind === "loading"
                ? "Computing the route …"
                : ""}
        </p>
      ) : (
        <>
          <Band route={route} by={by} />
          <div className={styles["text"]}>
            <TruthMark truth={route.truth} />
            <GhostSummary />
            {route.backend === ROUTED.backend && !isGhost ? <PlanSummary /> : null}
            {isGhost ? null : (
              <button
                type="button"
                className={styles["summary"]}
                title={`${route.sentence} Width shows the ${by === "work" ? "predicted time" : "number of ops"}; click to switch.`}
                onClick={() => setBy(by === "work" ? "ops" : "work")}
              >
                <Summary route={route} by={by} unit={unit} />
              </button>
            )}
          </div>
        </>
      )}
    </section>
  );
}

/** How far the plan agrees: a mismatch is visible on every tab. */
function PlanSummary(): ReactNode {
  const planned = useSession((state) => current(state.planned));
  const setTab = useSession((state) => state.setTab);
  if (planned === null || planned.refusal !== null) return null;
  return (
    <button type="button" className={styles["summary"]} title={planned.sentence} onClick={() => setTab("overview")}>
      <TruthWord truth="planned" simulated={planned.truth === "simulated"} />
      <span>{planned.differing === 0 ? "agrees" : plural(planned.differing, "difference")}</span>
    </button>
  );
}

function Summary({
  route,
  by,
  unit,
}: {
  readonly route: RouteView;
  readonly by: RibbonWidth;
  readonly unit: string;
}): ReactNode {
  const ops = route.devices.reduce((n, row) => n + row.ops, 0);
  const hopBytes = route.hops.reduce((sum, hop) => sum + hop.bytes, 0);
  const first = [...route.devices].sort((a, b) => (by === "work" ? b.workShare - a.workShare : b.ops - a.ops))[0];
  return (
    <>
      <span>
        <b>{approximate(seconds(route.step.value))}</b> {unit.replace("per", "a")}
      </span>
      {first === undefined ? null : (
        <span>
          <b>
            {deviceLook(first.device).short} {share(by === "work" ? first.workShare : first.ops / Math.max(1, ops))}
          </b>{" "}
          {by === "work" ? "of predicted time" : "of ops"}
        </span>
      )}
      <span>{plural(route.segments.length, "segment")}</span>
      <span>
        {by === "work" && route.hops.length > 0 ? <WaitSwatch kind="hop" /> : null}
        {plural(route.hops.length, "hop")}
        {hopBytes === 0 ? null : (
          <>
            {" "}
            with <b>{bytes(hopBytes)}</b>
            {route.cacheBytes === 0 ? ` ${unit}` : ""}
          </>
        )}
      </span>
      {route.cacheBytes === 0 ? null : (
        <span title="This program has no states: caches are passed in and out of every call.">
          {by === "work" ? <WaitSwatch kind="caches" /> : null}
          caches <b>{bytes(route.cacheBytes)}</b> {unit}
        </span>
      )}
    </>
  );
}

/** The plan below the prediction, in the same stretches. */
function usePlan(route: RouteView): ReadonlyMap<number, number> | null {
  const planned = useSession((state) => current(state.planned));
  return useMemo(() => {
    if (planned === null || planned.refusal !== null || planned.phase !== route.phase) return null;
    if (route.backend !== ROUTED.backend) return null;
    const devices = plannedRuns(route, planned);
    return new Map(Array.from(route.runs.firstNode, (node, run) => [node, devices[run] ?? 0]));
  }, [route, planned]);
}

function Band({ route, by }: { readonly route: RouteView; readonly by: RibbonWidth }): ReactNode {
  const plan = usePlan(route);
  const ghost = useSession((state) => state.ghost);
  const [ref, { width }] = useSize<HTMLDivElement>();
  const { rects, gaps } = useMemo(() => ribbonParts(route.runs, width, by, routeWaits(route)), [route, width, by]);
  const graph = useSession((state) => current(state.graph));
  const selection = useSession((state) => state.selection);
  const select = useSession((state) => state.select);
  const selected = selection.kind === "segment" ? selection.index : null;
  return (
    <div ref={ref} className={styles["band"]}>
      <svg width={width} height={HEIGHT + 8} aria-hidden="true">
        {rects.map((rect) => (
          <Rect
            key={rect.firstNode}
            x={rect.x}
            width={rect.width}
            height={plan === null && ghost === null ? HEIGHT : PREDICTED_HEIGHT}
            device={deviceOf(rect.device)}
          />
        ))}
        {gaps.map(({ kind, x, width: wide }) => (
          <rect
            key={x}
            x={x + 0.5}
            y={0.5}
            width={Math.max(1.2, wide - 1)}
            height={(plan === null && ghost === null ? HEIGHT : PREDICTED_HEIGHT) - 1}
            rx={1.5}
            fill={waitFill(kind)}
          />
        ))}
        {ghost === null ? null : (
          <GhostBand
            ghost={ghost}
            width={width}
            by={by}
            y={PREDICTED_HEIGHT + 1}
            height={HEIGHT - PREDICTED_HEIGHT - 1.5}
          />
        )}
        {plan === null || ghost !== null
          ? null
          : rects.map((rect) => (
              <PlanRect key={rect.firstNode} rect={rect} device={deviceOf(plan.get(rect.firstNode) ?? 0)} />
            ))}
        {ribbonNotches(rects).map((x) => (
          <path key={x} d={`M${x - 4} ${HEIGHT + 1}h8l-4 5z`} fill="var(--ink-2)" />
        ))}
      </svg>
      {gaps.map((gap) => (
        <span
          key={gap.x}
          role="img"
          className={styles["wait"]}
          style={{ left: gap.x, width: gap.width }}
          aria-label={gapWords(route, gap)}
          title={`${gapWords(route, gap)}.`}
        />
      ))}
      {segmentExtents(rects).map((extent) => {
        const segment = route.segments[extent.segment];
        if (segment === undefined) return null;
        return (
          <button
            key={extent.segment}
            type="button"
            className={styles["segment"]}
            style={{ left: extent.x, width: extent.width }}
            aria-pressed={selected === extent.segment}
            aria-label={segmentWords(segment)}
            title={`${segmentWords(segment)}.`}
            onPointerMove={(event) => {
              // The stretch under the pointer, without a component for each of hundreds.
              const at = extent.x + event.clientX - event.currentTarget.getBoundingClientRect().left;
              event.currentTarget.title = hoverText(segment, rectAt(rects, at), { graph, plan });
            }}
            onClick={() => select({ kind: "segment", index: extent.segment })}
          >
            {extent.width < ROOM_FOR_TIME ? null : (
              <span className={styles["time"]}>{approximate(seconds(segment.seconds.value))}</span>
            )}
          </button>
        );
      })}
    </div>
  );
}

/** "Hop to segment 2, 6 values with 3.2 KB, ~90.3 µs". */
function gapWords({ hops, cacheBytes, cacheSeconds }: RouteView, { kind, segment }: RibbonGap): string {
  if (kind === "caches")
    return `Copying ${bytes(cacheBytes)} of caches in and out, ${approximate(seconds(cacheSeconds.value))}`;
  const own = hops.filter(({ toSegment }) => toSegment === segment);
  const sum = (of: (hop: HopView) => number): number => own.reduce((all, hop) => all + of(hop), 0);
  return `Hop to segment ${segment + 1}, ${plural(
    sum(({ values }) => values),
    "value",
  )} with ${bytes(sum((hop) => hop.bytes))}, ${approximate(seconds(sum((hop) => hop.seconds.value)))}`;
}

const segmentWords = (segment: SegmentView): string =>
  `Segment ${segment.index + 1}, ${deviceLook(segment.device).name}, ${plural(segment.ops, "op")}, ${approximate(seconds(segment.seconds.value))}, ${share(segment.workShare)} of the step`;

interface Known {
  readonly graph: GraphModel | null;
  readonly plan: ReadonlyMap<number, number> | null;
}

/** The segment and its reason; then the stretch from its first op, and its plan. */
function hoverText(segment: SegmentView, rect: RibbonRect | undefined, { graph, plan }: Known): string {
  const lines = [`${segmentWords(segment)}.`, heaviestWords(segment, graph), segment.why];
  if (rect !== undefined && graph !== null && rect.firstNode < graph.view.nodeCount)
    lines.push(
      `Here ${plural(rect.ops, "op")} from ${opName(graph.view, rect.firstNode)} ${nodeName(graph.view, rect.firstNode)}, ${share(rect.work)} of the step.`,
    );
  if (rect !== undefined && plan !== null) {
    const planned = deviceOf(plan.get(rect.firstNode) ?? 0);
    lines.push(planned === "none" ? "Not in the plan." : `Planned on ${deviceLook(planned).name}.`);
  }
  return lines.filter((line) => line !== "").join("\n");
}

const heaviestWords = ({ heaviest }: SegmentView, graph: GraphModel | null): string =>
  graph === null || heaviest < 0 || heaviest >= graph.view.nodeCount
    ? ""
    : `Heaviest: ${opName(graph.view, heaviest)} ${nodeName(graph.view, heaviest)}.`;

/** Without a plan, a stretch stays an outline. */
function PlanRect({ rect, device }: { readonly rect: RibbonRect; readonly device: Device }): ReactNode {
  return (
    <rect
      x={rect.x + 0.5}
      y={PREDICTED_HEIGHT + 1}
      width={Math.max(1.2, rect.width - 1)}
      height={HEIGHT - PREDICTED_HEIGHT - 1.5}
      rx={1}
      fill={device === "none" ? "none" : deviceFill(device)}
      {...(device === "none" ? { stroke: "var(--line-strong)" } : {})}
    />
  );
}

interface RectProps {
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly device: Device;
}

/** There is one for each block and more: those that another target leaves as they are are left alone. */
const Rect = memo(({ x, width, height, device }: RectProps): ReactNode => {
  const host = device === "host";
  return (
    <rect
      x={x + 0.5}
      y={host ? 3 : 0.5}
      width={Math.max(1.2, width - 1)}
      height={host ? height - 6 : height - 1}
      rx={1.5}
      fill={deviceFill(device)}
      {...(host ? { stroke: "var(--host)", strokeDasharray: "2 2" } : {})}
    />
  );
});
