/** What is selected. An op's first card is always "Why here?", its last the chain of where it came from. */
import type { ReactNode } from "react";
import type { RouteView } from "../../../main/contract/views/route.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, plural, share } from "../../ui/format.ts";
import { DeviceChip, FigureText, TruthMark } from "../../ui/marks.tsx";
import { GroupCards } from "./GroupCards.tsx";
import { NodeCards } from "./NodeCards.tsx";
import { OriginCard } from "./OriginCard.tsx";
import styles from "./Inspector.module.css";

export interface InspectorLinks {
  readonly onNode: (node: number) => void;
  readonly onMil: (line: number) => void;
  readonly onPass: (index: number) => void;
}

export function Inspector(links: InspectorLinks): ReactNode {
  const selection = useSession((state) => state.selection);
  switch (selection.kind) {
    case "node":
      return <SelectedNode links={links} />;
    case "group":
      return <GroupCards group={selection.group} />;
    case "segment":
      return <SegmentCards index={selection.index} onNode={links.onNode} />;
    case "none":
    case "hop":
    case "pass":
      return <Nothing />;
  }
}

function SelectedNode({ links }: { readonly links: InspectorLinks }): ReactNode {
  const state = useSession((session) => session.node);
  if (state.kind === "failed") return <ErrorNote title="This op could not be looked up" error={state.error} />;
  const node = current(state);
  if (node === null) return <p className={styles["title"]}>…</p>;
  return (
    <>
      <h2 className={styles["title"]}>{[node.path, node.name].filter((part) => part !== "").join(" · ")}</h2>
      <NodeCards node={node} onNode={links.onNode} onMil={links.onMil} />
      <OriginCard node={node} links={links} />
    </>
  );
}

function Nothing(): ReactNode {
  const tab = useSession((state) => state.tab);
  const route = useSession((state) => current(state.routes[state.phase]));
  return (
    <>
      {tab === "graph" && route !== null ? <SegmentsCard route={route} /> : null}
      {tab === "graph" ? (
        <p className={styles["hint"]}>Select an op to see why it runs where it runs, and where it came from.</p>
      ) : null}
      {tab === "graph" ? null : <Identity />}
      {tab === "overview" && route !== null ? <SegmentsCard route={route} /> : null}
    </>
  );
}

function Identity(): ReactNode {
  const overview = useSession((state) => current(state.model));
  if (overview === null) return null;
  const { file } = overview;
  return (
    <Card title="Identity" level={2}>
      <Facts
        rows={
          file === null
            ? [["kind", overview.variant]]
            : [
                ["file", file.name],
                ["size", bytes(file.bytes)],
                ...(file.parts > 1 ? ([["parts", String(file.parts)]] as const) : []),
                ["header", file.headerHash.slice(0, 16)],
                ["opened in", <FigureText key="opened" figure={file.openedIn} />],
              ]
        }
      />
      <Note>
        {file === null ? "Made by the program itself." : "Known by its size and header; the weights were not read."}
      </Note>
    </Card>
  );
}

const MANY = 40;

/** Segments in order, and what crosses between them. */
function SegmentsCard({ route }: { readonly route: RouteView }): ReactNode {
  const select = useSession((state) => state.select);
  const into = (index: number) => route.hops.find((hop) => hop.toSegment === index);
  return (
    <Card title={plural(route.segments.length, "segment")} aside={<TruthMark truth={route.truth} />} level={2}>
      <ol className={styles["segments"]}>
        {route.segments.slice(0, MANY).map((segment) => {
          const hop = into(segment.index);
          return (
            <li key={segment.index}>
              {hop === undefined ? null : (
                <p className={styles["hop"]}>
                  <span aria-hidden="true">↓</span> {bytes(hop.bytes)} <FigureText figure={hop.seconds} />
                </p>
              )}
              <button
                type="button"
                onClick={() => select({ kind: "segment", index: segment.index })}
                title={segment.why}
              >
                <DeviceChip device={segment.device}>{deviceLook(segment.device).short}</DeviceChip>
                <span>{plural(segment.ops, "op")}</span>
                <em>{share(segment.workShare)}</em>
              </button>
            </li>
          );
        })}
      </ol>
      {route.segments.length > MANY ? (
        <Note>{plural(route.segments.length - MANY, "more segment")}, seen in the ribbon.</Note>
      ) : null}
      <Note>{route.sentence}</Note>
    </Card>
  );
}

function SegmentCards({
  index,
  onNode,
}: {
  readonly index: number;
  readonly onNode: (node: number) => void;
}): ReactNode {
  const route = useSession((state) => current(state.routes[state.phase]));
  const select = useSession((state) => state.select);
  const segment = route?.segments[index];
  if (route === null || segment === undefined) return null;
  const hopIn = route.hops.find((hop) => hop.toSegment === index);
  const hopOut = route.hops.find((hop) => hop.fromSegment === index);
  return (
    <>
      <h2 className={styles["title"]}>
        Segment {index + 1} of {route.segments.length}
      </h2>
      <Card title="Why here?" aside={<TruthMark truth={route.truth} />}>
        <p className={styles["chips"]}>
          <DeviceChip device={segment.device} /> <span>{segment.title}</span>
        </p>
        <Note>{segment.why}</Note>
      </Card>
      <Card title="What it does">
        <Facts
          rows={[
            ["ops", String(segment.ops)],
            ["share of the work", share(segment.workShare)],
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
            ["reads", segment.inputs.join(", ") || "–"],
            ["gives", segment.outputs.join(", ") || "–"],
            ...(hopIn === undefined ? [] : ([["hop in", <FigureText key="in" figure={hopIn.seconds} />]] as const)),
            ...(hopOut === undefined ? [] : ([["hop out", <FigureText key="out" figure={hopOut.seconds} />]] as const)),
          ]}
        />
      </Card>
    </>
  );
}
