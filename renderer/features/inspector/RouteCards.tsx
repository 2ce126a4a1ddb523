/** Segments in order with the hops between them; one segment; one hop. The numbers of a hop are the same everywhere. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { NO_OPERATION_TITLE, NO_OPERATION_WORDS, opsWithoutOperation } from "../../../main/contract/routeCounts.ts";
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { HopView, RouteView, SegmentView } from "../../../main/contract/views/route.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { nodeName, nodeType, opName } from "../../graph/graphModel.ts";
import { hopEdges, hopLoad, hopsInto, hopsOutOf, segmentsOfNodes } from "../../graph/hopWords.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Facts } from "../../ui/Facts.tsx";
import { approximate, bytes, count, figureText, plural, seconds as secondsText, share } from "../../ui/format.ts";
import { DeviceChip, FigureText, TruthMark } from "../../ui/marks.tsx";
import styles from "./Inspector.module.css";

const MANY = 40;

export function SegmentsCard({ route }: { readonly route: RouteView }): ReactNode {
  const select = useSession((state) => state.select);
  const isGraph = useSession((state) => isGraphAlone(current(state.model)?.kind ?? "model"));
  return (
    <Card title={plural(route.segments.length, "segment")} aside={<TruthMark truth={route.truth} />} level={2}>
      <ol className={styles["segments"]}>
        {route.segments.slice(0, MANY).map((segment) => (
          <li key={segment.index}>
            {hopsInto(route, segment.index).map((hop) => (
              <HopRow key={hop.fromSegment} route={route} hop={hop} next={segment.index - 1} />
            ))}
            <button type="button" onClick={() => select({ kind: "segment", index: segment.index })} title={segment.why}>
              <DeviceChip device={segment.device}>{deviceLook(segment.device).short}</DeviceChip>
              <span>{plural(segment.ops, "op")}</span>
              <em title={`${share(segment.workShare)} of the step`}>
                {approximate(secondsText(segment.seconds.value))}
              </em>
            </button>
          </li>
        ))}
      </ol>
      {route.segments.length > MANY ? (
        <Note>{plural(route.segments.length - MANY, "more segment")}, seen in the ribbon.</Note>
      ) : null}
      <Facts rows={wholeRows(route, isGraph)} />
      <Note>{route.sentence}</Note>
    </Card>
  );
}

/** What the list has no line for, and all of it. */
function wholeRows(route: RouteView, isGraph: boolean): readonly (readonly [string, ReactNode])[] {
  const { cacheSeconds, step, phase } = route;
  const none = opsWithoutOperation(route);
  return [
    ...(none === 0
      ? []
      : [
          [
            NO_OPERATION_TITLE,
            <span key="none" title={NO_OPERATION_WORDS}>
              {plural(none, "op")}
            </span>,
          ] as const,
        ]),
    ...(cacheSeconds.value === 0
      ? []
      : [["copied caches", <FigureText key="caches" figure={cacheSeconds} />] as const]),
    [isGraph ? "a run" : phase === "decode" ? "a token" : "a chunk", <FigureText key="step" figure={step} />],
  ];
}

/** "linear output, ~8.4 ms, 98 % of it": what most of a segment's time goes into. */
function heaviestText(route: RouteView, { heaviest, seconds }: SegmentView, graph: GraphModel | null): string {
  if (heaviest < 0 || graph === null || heaviest >= graph.view.nodeCount) return "";
  const own = route.nodes.seconds[heaviest] ?? 0;
  const name = [opName(graph.view, heaviest), nodeName(graph.view, heaviest)].filter((word) => word !== "");
  const ofIt = share(seconds.value === 0 ? 0 : own / seconds.value);
  return `${name.join(" ")}, ${approximate(secondsText(own))}, ${ofIt} of it`;
}

/** A hop from the segment just before needs no name; one from further back says where it comes from. */
function HopRow({
  route,
  hop,
  next,
}: {
  readonly route: RouteView;
  readonly hop: HopView;
  readonly next: number;
}): ReactNode {
  const select = useSession((state) => state.select);
  return (
    <p className={styles["hop"]}>
      <button type="button" onClick={() => select({ kind: "hop", index: route.hops.indexOf(hop) })}>
        <span>
          <span aria-hidden="true">↓</span> {hopLoad(hop)}
          {hop.fromSegment === next ? "" : ` from segment ${hop.fromSegment + 1}`}
        </span>
        <FigureText figure={hop.seconds} />
      </button>
    </p>
  );
}

export function SegmentCards({
  index,
  onNode,
  children,
}: {
  readonly index: number;
  readonly onNode: (node: number) => void;
  /** Below the first card: plan, observation and MLX. */
  readonly children?: ReactNode;
}): ReactNode {
  const route = useSession((state) => current(state.routes[state.phase]));
  const select = useSession((state) => state.select);
  const graph = useSession((state) => current(state.graph));
  const segment = route?.segments[index];
  if (route === null || segment === undefined) return null;
  const heaviest = heaviestText(route, segment, graph);
  const hopRow = (title: string, hop: HopView, other: number): readonly [ReactNode, ReactNode] => [
    `${title} segment ${other + 1}`,
    <button
      key={`${title} ${other}`}
      type="button"
      className={styles["link"]}
      onClick={() => select({ kind: "hop", index: route.hops.indexOf(hop) })}
    >
      {hopLoad(hop)}, {figureText(hop.seconds)}
    </button>,
  ];
  return (
    <>
      <h2 className={styles["title"]}>
        Segment {index + 1} of {route.segments.length}
      </h2>
      <Card title="Why here?" aside={<TruthMark truth={route.truth} />}>
        <p className={styles["chips"]}>
          <DeviceChip device={segment.device} /> <span>{segment.title}</span>
        </p>
        {heaviest === "" ? null : (
          <p>
            Heaviest:{" "}
            <button type="button" className={styles["link"]} onClick={() => onNode(segment.heaviest)}>
              {heaviest}
            </button>
          </p>
        )}
        <Note>{segment.why}</Note>
      </Card>
      {children}
      <Card title="What it does">
        <Facts
          rows={[
            ["ops", String(segment.ops)],
            ["time", <FigureText key="time" figure={segment.seconds} range />],
            ["share of the step", share(segment.workShare)],
            ["bytes in", bytes(segment.bytesIn)],
            ["bytes out", bytes(segment.bytesOut)],
          ]}
        />
        <div className={styles["buttons"]}>
          <button type="button" className={styles["link"]} onClick={() => onNode(segment.firstNode)}>
            First op
          </button>
          <button type="button" className={styles["link"]} onClick={() => onNode(segment.lastNode)}>
            Last op
          </button>
          <button type="button" className={styles["link"]} onClick={() => select({ kind: "none" })}>
            All segments
          </button>
        </div>
      </Card>
      <Card title="What crosses">
        <Facts
          rows={[
            ...hopsInto(route, index).map((hop) => hopRow("from", hop, hop.fromSegment)),
            ...hopsOutOf(route, index).map((hop) => hopRow("to", hop, hop.toSegment)),
          ]}
        />
        <Values title="Reads" names={segment.inputs} />
        <Values title="Gives" names={segment.outputs} />
      </Card>
    </>
  );
}

/** Of hundreds of caches the first names say what the others are. */
const MOST_VALUES = 12;

function Values({ title, names }: { readonly title: string; readonly names: readonly string[] }): ReactNode {
  if (names.length === 0) return null;
  const more = names.length - MOST_VALUES;
  return (
    <div className={styles["crossingValues"]}>
      <h4>
        {title} {plural(names.length, "value")}
      </h4>
      <ul>
        {names.slice(0, MOST_VALUES).map((name) => (
          <li key={name} title={name}>
            {name}
          </li>
        ))}
      </ul>
      {more > 0 ? <Note>and {count(more)} more</Note> : null}
    </div>
  );
}

export function HopCards({
  index,
  onNode,
}: {
  readonly index: number;
  readonly onNode: (node: number) => void;
}): ReactNode {
  const route = useSession((state) => current(state.routes[state.phase]));
  const model = useSession((state) => current(state.graph));
  const select = useSession((state) => state.select);
  const hop = route?.hops[index];
  const edges = useMemo(() => {
    if (route === null || model === null || hop === undefined) return [];
    if (route.nodes.device.length !== model.view.nodeCount) return [];
    return hopEdges(model.view, segmentsOfNodes(model.view.nodeCount, route), hop);
  }, [route, model, hop]);
  if (route === null || hop === undefined) return null;
  const segmentLink = (segment: number): ReactNode => (
    <button type="button" className={styles["link"]} onClick={() => select({ kind: "segment", index: segment })}>
      segment {segment + 1}
    </button>
  );
  return (
    <>
      <h2 className={styles["title"]}>
        Hop {index + 1} of {route.hops.length}
      </h2>
      <Card title="What crosses" aside={<TruthMark truth={route.truth} />}>
        <p className={styles["chips"]}>
          <DeviceChip device={hop.from} /> <span aria-hidden="true">→</span> <DeviceChip device={hop.to} />
        </p>
        <Facts
          rows={[
            ["from", segmentLink(hop.fromSegment)],
            ["to", segmentLink(hop.toSegment)],
            ["values", String(hop.values)],
            ["bytes together", bytes(hop.bytes)],
            ["time together", <FigureText key="time" figure={hop.seconds} />],
          ]}
        />
        <Note>{hop.seconds.basis.charAt(0).toUpperCase() + hop.seconds.basis.slice(1)}.</Note>
      </Card>
      {edges.length === 0 || model === null ? null : (
        <Card title="Made and read by" aside={plural(edges.length, "edge")}>
          {edges.slice(0, MANY).map(({ source, target, bytes: size }) => (
            <div key={source} className={styles["crossing"]}>
              {[source, target].map((node, i) => (
                <p key={node}>
                  <span aria-hidden="true">{i === 0 ? "" : "└ "}</span>
                  <button type="button" className={styles["link"]} onClick={() => onNode(node)}>
                    {opName(model.view, node)} {nodeName(model.view, node)}
                  </button>
                  {i === 0 ? <code>{nodeType(model.view, source)}</code> : size > 0 ? <code>{bytes(size)}</code> : null}
                </p>
              ))}
            </div>
          ))}
          {hop.values > edges.length ? (
            <Note>
              {plural(hop.values, "value")} of the lowered program cross; the graph joins both sides by{" "}
              {plural(edges.length, "edge")}: the others are steps inside these ops.
            </Note>
          ) : null}
        </Card>
      )}
    </>
  );
}
