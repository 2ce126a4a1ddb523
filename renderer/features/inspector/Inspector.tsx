/**
 * The inspector of the selection. An op's first card is always "Why here?", its last one its
 * provenance.
 */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes } from "../../ui/format.ts";
import { FigureText } from "../../ui/marks.tsx";
import { KnownCards } from "./KnownCards.tsx";
import { GroupCards } from "./GroupCards.tsx";
import { NodeCards } from "./NodeCards.tsx";
import type { InspectorLinks } from "./links.ts";
import { OriginCard } from "./OriginCard.tsx";
import { HopCards, SegmentCards, SegmentsCard } from "./RouteCards.tsx";
import styles from "./Inspector.module.css";

export function Inspector(links: InspectorLinks): ReactNode {
  const selection = useSession((state) => state.selection);
  switch (selection.kind) {
    case "node":
      return <SelectedNode links={links} />;
    case "group":
      return <GroupCards group={selection.group} {...links} />;
    case "segment":
      return (
        <SegmentCards index={selection.index} onNode={links.onNode}>
          {links.routeOfSegment(selection.index)}
        </SegmentCards>
      );
    case "hop":
      return <HopCards index={selection.index} onNode={links.onNode} />;
    case "none":
    case "pass":
      return <Nothing advice={links.advice} />;
  }
}

function SelectedNode({ links }: { readonly links: InspectorLinks }): ReactNode {
  const state = useSession((session) => session.node);
  const chosen = useSession(({ selection }) => (selection.kind === "node" ? selection.node : -1));
  if (state.kind === "failed") return <ErrorNote title="This op could not be looked up" error={state.error} />;
  const node = current(state);
  // The op that was looked at before would stand under the wrong name until the answer comes.
  if (node === null || (state.kind === "loading" && node.node !== chosen)) return <KnownCards model={links.model} />;
  return (
    <>
      <h2 className={styles["title"]}>{[node.path, node.name].filter((part) => part !== "").join(" · ")}</h2>
      <NodeCards
        node={node}
        onNode={links.onNode}
        onMil={links.onMil}
        onTensor={links.onTensor}
        afterWhy={links.routeOfNode(node)}
      />
      <OriginCard node={node} links={links} />
    </>
  );
}

function Nothing({ advice }: Pick<InspectorLinks, "advice">): ReactNode {
  const tab = useSession((state) => state.tab);
  const route = useSession((state) => current(state.routes[state.phase]));
  return (
    <>
      {advice}
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
            ? [[overview.kind === "text" ? "text" : "kind", overview.variant]]
            : [
                ["file", overview.kind === "header-only" ? "none, only a header" : file.name],
                ["size", bytes(file.bytes)],
                ...(file.parts > 1 ? ([["parts", String(file.parts)]] as const) : []),
                ["header", file.headerHash.slice(0, 16)],
                ["opened in", <FigureText key="opened" figure={file.openedIn} />],
              ]
        }
      />
      <Note>
        {file !== null
          ? "Identified by its size and header."
          : overview.kind === "text"
            ? "A graph that was read from a text."
            : "Made by the program itself."}
      </Note>
    </Card>
  );
}
