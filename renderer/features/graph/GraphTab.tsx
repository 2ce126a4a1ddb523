/** The graph tab: the canvas with its bar, search, legend and states. */
import type { ReactNode } from "react";
import { useEffect, useMemo } from "react";
import { isRouted } from "../../../main/contract/views/graph.ts";
import { FileBlocks } from "../../graph/FileBlocks.tsx";
import { BOX_KINDS } from "../../graph/lift.ts";
import { current } from "../../session/async.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import { useSize } from "../../ui/useSize.ts";
import { GraphBar } from "./GraphBar.tsx";
import { GraphCanvas } from "./GraphCanvas.tsx";
import type { GraphPicture } from "../../drawing/graphPicture.ts";
import { createGraphPicture } from "../../drawing/graphPicture.ts";
import { Legend } from "./Legend.tsx";
import { useGraph } from "./useGraph.ts";
import type { KeptView } from "./view.ts";
import styles from "./Graph.module.css";

export function GraphTab(): ReactNode {
  const state = useGraph((s) => s.picture);
  const graph = useGraph((s) => (isRouted(s.graphStage) ? s.graph : s.stageGraph));
  const model = useGraph((s) => current(s.model));
  const select = useMemo(() => createGraphPicture(), []);
  const picture = useGraph(select);
  if (model !== null && !model.canGraph.ok)
    return (
      <div className={styles["blocks"]}>
        <Empty title="No graph for this file">{`${model.canGraph.sentence} ${model.canGraph.hint ?? ""}`}</Empty>
        <FileBlocks key={model.model} model={model.model} />
      </div>
    );
  const error = graph.kind === "failed" ? graph.error : state.kind === "failed" ? state.error : null;
  if (error !== null)
    return (
      <div className={styles["message"]}>
        <ErrorNote title="The graph could not be built" error={error} />
      </div>
    );
  return (
    <div className={styles["tab"]}>
      {picture === null ? (
        <div className={styles["message"]}>
          <Progress sentence="Building the graph" fraction={null} />
        </div>
      ) : (
        <Shown shown={picture} />
      )}
      <GraphBar />
    </div>
  );
}

function Shown({ shown }: { readonly shown: GraphPicture }): ReactNode {
  const {
    picture,
    paint,
    hops,
    selectedHop,
    segments,
    describe,
    route,
    overlay,
    result,
    devices,
    highlight,
    kinds,
    data,
  } = shown;
  const { model, scene } = picture;
  const anchorGroup = useGraph((s) => s.anchorGroup);
  const request = useGraph((s) => s.viewRequest);
  const pending = useGraph((s) => s.picture.kind === "loading");
  const kept = useGraph((s) => (s.keptView?.model === model ? s.keptView.view : null));
  const select = useGraph((s) => s.select);
  const close = useGraph((s) => s.toggleGroup);
  const resize = useGraph((s) => s.setCanvasSize);
  const selectBox = useGraph((s) => s.selectBox);
  const keepView = useGraph((s) => s.keepView);
  const showView = useGraph((s) => s.setViewNow);
  const cards = useMemo(() => ({ ...shown.cards, close }), [shown.cards, close]);
  const actions = useMemo(
    () => ({
      ...{ selectBox, resize, describe, showView },
      selectHop: (index: number) => select({ kind: "hop", index }),
      keep: (view: KeptView) => keepView(model, view),
      openBox(box: number) {
        if (scene.kind[box] !== BOX_KINDS.op) close(scene.ref[box] ?? 0);
      },
    }),
    [model, scene, describe, select, selectBox, close, resize, keepView, showView],
  );
  useEffect(() => {
    // The canvas is where single keys work: it takes the focus when nothing else has it, or a key has led to its view before it was there.
    if (document.activeElement === document.body || document.activeElement?.id === "view")
      document.querySelector<HTMLElement>("[data-graph-canvas]")?.focus({ preventScroll: true });
  }, []);
  const [legend, { height: legendHeight }] = useSize<HTMLDivElement>();
  return (
    <>
      <GraphCanvas
        legendHeight={legendHeight}
        {...{ picture, paint, hops, selectedHop, segments, kept, cards, anchorGroup, request, pending, actions }}
        changed={cards.changed}
      />
      <Legend {...{ paint, route, overlay, result, devices, highlight, kinds, data }} ref={legend} />
    </>
  );
}
