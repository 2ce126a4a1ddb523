/** The graph tab: the canvas with its bar, search, legend and states. */
import type { ReactNode } from "react";
import { useCallback, useEffect, useMemo } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import { DEVICES, deviceCode, deviceOf } from "../../../main/contract/views/common.ts";
import { mlxStateOf } from "../../../main/contract/views/mlx.ts";
import { oddNote, stackNote } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { groupName, nodeName, opName, pathOf } from "../../graph/graphModel.ts";
import { segmentsOfNodes } from "../../graph/hopWords.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { current } from "../../session/async.ts";
import { deviceLook } from "../../ui/devices.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { approximate, bytes, fineShare, seconds } from "../../ui/format.ts";
import { Empty, Progress } from "../../ui/states.tsx";
import type { CardContext } from "./cardContext.ts";
import { stackSize, subtitleOf, titleOf } from "./boxWords.ts";
import { GraphBar } from "./GraphBar.tsx";
import { GraphCanvas } from "./GraphCanvas.tsx";
import { changedBoxes } from "./changes.ts";
import { boxesOf, dimmedBoxes } from "./dim.ts";
import { hopMarks, hopsInside } from "./hops.ts";
import { errorText, Legend } from "./Legend.tsx";
import { litNodes } from "./lit.ts";
import { paintScene, segmentText } from "./paint.ts";
import { measuredColumn, weightErrorColumn } from "../../graph/resultColumns.ts";
import { isRouted } from "../../../main/contract/views/graph.ts";
import type { Picture } from "./graphState.ts";
import { isResultMode, mlxColumn, plannedColumn, routeColumns, shownMode } from "./graphState.ts";
import type { KeptView } from "./view.ts";
import { selectedBox } from "./walk.ts";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function GraphTab(): ReactNode {
  const state = useGraph((s) => s.picture);
  const graph = useGraph((s) => (isRouted(s.graphStage) ? s.graph : s.stageGraph));
  const canGraph = useGraph((s) => current(s.model)?.canGraph ?? null);
  const picture = current(state);
  if (canGraph !== null && !canGraph.ok)
    return <Empty title="No graph for this file">{`${canGraph.sentence} ${canGraph.hint ?? ""}`}</Empty>;
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
        <Shown picture={picture} />
      )}
      <GraphBar />
    </div>
  );
}

const NO_LEGEND: readonly string[] = [];
const NONE: ReadonlyMap<number, never> = new Map<number, never>();

function Shown({ picture }: { readonly picture: Picture }): ReactNode {
  const mode = useGraph(shownMode);
  const plan = useGraph(plannedColumn);
  const onMlx = useGraph(mlxColumn);
  const stage = useGraph((s) => s.graphStage);
  const overlay = useGraph((s) => current(s.overlay));
  const route = useGraph((s) => current(s.routes[s.phase]));
  const device = useGraph((s) => routeColumns(s).device);
  const work = useGraph((s) => routeColumns(s).work);
  const selection = useGraph((s) => s.selection);
  const isolated = useGraph((s) => s.isolated);
  const only = useGraph((s) => s.only);
  const hitNodes = useGraph((s) => s.graphHits);
  const anchorGroup = useGraph((s) => s.anchorGroup);
  const request = useGraph((s) => s.viewRequest);
  const pending = useGraph((s) => s.picture.kind === "loading");
  const select = useGraph((s) => s.select);
  const toggleGroup = useGraph((s) => s.toggleGroup);
  const resize = useGraph((s) => s.setCanvasSize);
  const selectBox = useGraph((s) => s.selectBox);
  const keepView = useGraph((s) => s.keepView);
  const kept = useGraph((s) => (s.keptView?.model === picture.model ? s.keptView.view : null));
  const changes = useGraph((s) => s.stageChanges);
  const { model, scene } = picture;
  const { nodeCount } = model.view;

  const legalRoute =
    isRouted(stage) && route !== null && device !== null && nodeCount === route.nodes.device.length ? route : null;
  const segments = useMemo(
    () => (legalRoute === null ? null : segmentsOfNodes(nodeCount, legalRoute)),
    [legalRoute, nodeCount],
  );
  const profiled = useGraph((s) => s.profiled);
  const weightErrors = useGraph((s) => s.weightErrors);
  const phase = useGraph((s) => s.phase);
  const result = useMemo(() => {
    if (mode === "measured" && profiled !== null) return measuredColumn(model, profiled, phase);
    return mode === "error" && weightErrors !== null ? weightErrorColumn(model, weightErrors.rows) : null;
  }, [mode, model, profiled, weightErrors, phase]);
  const asked =
    overlay !== null && overlay.kind === mode && overlay.values.length === nodeCount ? overlay.values : null;
  const values = isResultMode(mode) ? (result?.values ?? null) : mode === "mapped" ? onMlx : asked;
  const legend = overlay?.legend ?? NO_LEGEND;
  const predicted = device !== null && device.length === nodeCount ? device : mode === "device" ? values : null;
  const deviceColumn = mode === "planned" ? plan : predicted;
  const devices = useMemo(
    () =>
      mode !== "planned" && legalRoute !== null
        ? legalRoute.devices
        : deviceColumn === null
          ? []
          : countDevices(model, deviceColumn),
    [mode, legalRoute, model, deviceColumn],
  );
  const workColumn = work !== null && work.length === nodeCount ? work : null;
  const paint = useMemo(
    () =>
      paintScene(picture, mode, {
        device: deviceColumn,
        work: workColumn,
        segment: segments ?? (mode === "segment" ? values : null),
        values,
        legend,
      }),
    [picture, mode, deviceColumn, workColumn, segments, values, legend],
  );
  const hops = useMemo(
    () => (legalRoute === null || segments === null ? NONE : hopMarks(scene, legalRoute, segments)),
    [scene, legalRoute, segments],
  );
  const inside = useMemo(
    () => (legalRoute === null || segments === null ? NONE : hopsInside(picture, legalRoute, segments)),
    [picture, legalRoute, segments],
  );
  const changed = useMemo(() => (changes === null ? NONE : changedBoxes(scene, changes.nodes)), [scene, changes]);
  const box = selectedBox(picture, selection);
  const hits = useMemo(
    () =>
      new Set(hitNodes.flatMap((node) => ((scene.boxOfNode[node] ?? -1) >= 0 ? [scene.boxOfNode[node] ?? -1] : []))),
    [hitNodes, scene],
  );

  const segment = selection.kind === "segment" ? selection.index : -1;
  const lit = useMemo(() => litNodes(only, model, workColumn, changes), [only, model, workColumn, changes]);
  const dimmed = useMemo(() => {
    const alone = isolated === null ? -1 : DEVICES.indexOf(isolated);
    return dimmedBoxes(scene, paint, segments, { device: alone, segment, lit: lit?.nodes ?? null });
  }, [scene, paint, segments, isolated, segment, lit]);

  const attributed = useMemo(() => (result === null ? null : boxesOf(scene, result.attributed, 1)), [scene, result]);
  const quantity = useCallback(
    (of: number): string => {
      if (mode === "segment") return segmentText(paint.segments[of] ?? []);
      if (mode === "time") return (paint.value[of] ?? 0) > 0 ? approximate(fineShare(paint.value[of] ?? 0)) : "";
      if (mode === "bytes") return (paint.value[of] ?? 0) > 0 ? bytes(paint.value[of] ?? 0) : "";
      if (mode === "measured") return timeText(paint.value[of] ?? 0, attributed?.[of] === 1);
      if (mode === "error") return Number.isNaN(paint.value[of] ?? Number.NaN) ? "" : errorText(paint.value[of] ?? 0);
      if (mode === "mapped") return mlxStateOf(paint.value[of] ?? 0) === "none" ? "" : mlxStateOf(paint.value[of] ?? 0);
      if (mode === "type") return overlay?.legend[paint.value[of] ?? 0] ?? "";
      return (paint.work[of] ?? 0) >= 0.0005 ? approximate(fineShare(paint.work[of] ?? 0)) : "";
    },
    [mode, paint, overlay, attributed],
  );
  const warning = useCallback(
    (node: number): string | null => {
      if (legalRoute === null || !legalRoute.target.units.includes("ane")) return null;
      const code = legalRoute.nodes.device[node] ?? 0;
      if (code === 0 || code === deviceCode("ane")) return null;
      return legalRoute.strings[legalRoute.nodes.reason[node] ?? 0] ?? null;
    },
    [legalRoute],
  );
  const planned = useCallback(
    (node: number): Device | null => {
      const [ours, theirs] = [device?.[node] ?? 0, plan?.[node] ?? 0];
      // The bar is beside the predicted device: in the colours of the plan there is nothing to add.
      return mode !== "device" || theirs === 0 || ours === theirs ? null : deviceOf(theirs);
    },
    [device, plan, mode],
  );
  const note = useCallback(
    (of: number): string => {
      const { classes } = picture;
      const odd = (group: number): string =>
        oddNote(model, group, classes, deviceColumn, (code) => deviceLook(deviceOf(code)).short);
      const [first, last] = [scene.ref[of] ?? 0, scene.last[of] ?? 0];
      return scene.kind[of] === BOX_KINDS.stack ? stackNote(model, first, last, classes, odd) : odd(first);
    },
    [model, scene, picture, deviceColumn],
  );
  const cards = useMemo<Omit<CardContext, "full" | "picture" | "paint">>(
    () => ({
      selectedBox: box,
      dimmed,
      hits,
      quantity,
      warning,
      planned,
      note,
      inside,
      changed,
      close: toggleGroup,
    }),
    [box, dimmed, hits, quantity, warning, planned, note, inside, changed, toggleGroup],
  );
  const actions = useMemo(
    () => ({
      selectBox,
      selectHop(index: number) {
        select({ kind: "hop", index });
      },
      resize,
      keep: (view: KeptView) => keepView(model, view),
      openBox(of: number) {
        if (scene.kind[of] !== BOX_KINDS.op) toggleGroup(scene.ref[of] ?? 0);
      },
      describe(of: number) {
        const where =
          scene.kind[of] === BOX_KINDS.op
            ? pathOf(model.view, scene.ref[of] ?? 0)
                .slice(1)
                .map((group) => groupName(model.view, group))
                .join(", ")
            : subtitleOf(picture, of);
        const on = DEVICES[paint.device[of] ?? 0] ?? "none";
        const what =
          scene.kind[of] === BOX_KINDS.op
            ? `${opName(model.view, scene.ref[of] ?? 0)} ${nodeName(model.view, scene.ref[of] ?? 0)}`
            : `${titleOf(picture, of)}${scene.kind[of] === BOX_KINDS.stack ? `, ${stackSize(scene, model.view.groups.parent, of)} blocks` : ""}`;
        return `${what}, ${where}${on === "none" ? "" : `, on ${deviceLook(on).name}`}`;
      },
    }),
    [picture, model, scene, paint, select, selectBox, toggleGroup, resize, keepView],
  );
  useEffect(() => {
    // The canvas is where single keys work: it takes the focus when nothing else has it.
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>("[data-graph-canvas]")?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <GraphCanvas
        picture={picture}
        paint={paint}
        hops={hops}
        selectedHop={selection.kind === "hop" ? selection.index : -1}
        changed={changed}
        kept={kept}
        cards={cards}
        anchorGroup={anchorGroup}
        request={request}
        pending={pending}
        actions={actions}
      />
      <Legend paint={paint} route={legalRoute} overlay={overlay} result={result} devices={devices} lit={lit} />
    </>
  );
}

const timeText = (value: number, attributed: boolean): string =>
  value > 0 ? (attributed ? approximate(seconds(value)) : seconds(value)) : "";

function countDevices(
  model: GraphModel,
  column: ArrayLike<number>,
): readonly { readonly device: Device; readonly ops: number }[] {
  const counts = DEVICES.map(() => 0);
  for (let node = 0; node < model.view.nodeCount; node++)
    if (model.hidden[node] === 0) counts[column[node] ?? 0] = (counts[column[node] ?? 0] ?? 0) + 1;
  return DEVICES.flatMap((device, code) =>
    device === "none" || (counts[code] ?? 0) === 0 ? [] : [{ device, ops: counts[code] ?? 0 }],
  );
}
