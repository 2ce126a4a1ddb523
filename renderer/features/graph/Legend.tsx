/** The legend: always there, and a filter. Devices with their counts, or the heat scale with its ends. */
import type { ReactNode, RefObject } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import type { OverlayView } from "../../../main/contract/views/graph.ts";
import { NO_OPERATION_TITLE, NO_OPERATION_WORDS, opsWithoutOperation } from "../../../main/contract/routeCounts.ts";
import { isRouted } from "../../../main/contract/views/graph.ts";
import { MLX_STATES } from "../../../main/contract/views/mlx.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";
import type { ResultColumn } from "../../graph/resultColumns.ts";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { approximate, bytes, count, fineShare, plural, quantity, seconds, significant } from "../../ui/format.ts";
import { DeviceChip, TruthMark } from "../../ui/marks.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import type { NodeDataColumn } from "../../graph/nodeData.ts";
import { rampColor } from "../../graph/nodeData.ts";
import type { OpKind } from "../../graph/opKinds.ts";
import { hasFacet, withFacet } from "../../graph/facets.ts";
import { errorText, segmentWork, timeOf } from "../../drawing/cardWords.ts";
import { CHANGE_SIGNS } from "../../drawing/changes.ts";
import { NOTHING_KNOWN, weightColors } from "../../ui/weightColors.ts";
import { heatColor } from "../../../main/contract/heat.ts";
import { isPass } from "./graphState.ts";
import { KindGlyph } from "./KindGlyph.tsx";
import { segmentColor } from "../../drawing/segmentFrames.ts";
import type { Highlight } from "../../drawing/highlight.ts";
import type { Paint } from "../../drawing/paint.ts";
import { mlxColor } from "../../drawing/paint.ts";
import { useGraph } from "./useGraph.ts";
import styles from "./Legend.module.css";

export interface LegendProps {
  readonly paint: Paint;
  readonly route: RouteView | null;
  readonly overlay: OverlayView | null;
  readonly result: ResultColumn | null;
  /** Ops by device, on the graph that is shown. */
  readonly devices: readonly { readonly device: Device; readonly ops: number }[];
  readonly highlight: Highlight | null;
  readonly kinds: readonly { readonly kind: OpKind; readonly ops: number }[];
  readonly data: NodeDataColumn | null;
  /** Its height is room that a view of everything leaves free. */
  readonly ref: RefObject<HTMLDivElement | null>;
}

export function Legend({
  paint,
  route,
  overlay,
  result,
  devices,
  highlight,
  kinds,
  data,
  ref,
}: LegendProps): ReactNode {
  const isolated = useGraph((s) => s.isolated);
  const isolate = useGraph((s) => s.isolate);
  const routing = useGraph((s) => isRouted(s.graphStage) && s.routes[s.phase].kind === "loading");
  const stageIsPass = useGraph((s) => isPass(s.graphStage) && s.stageChanges !== null);
  const small = useGraph((s) => s.graphRoom.compact);
  const { mode } = paint;
  return (
    <div ref={ref} className={styles["legend"]} data-small={small}>
      <div className={cx(styles["row"], stageIsPass && styles["withChanges"])}>
        <ChangeLegend />
        <OnlyNote highlight={highlight} />
        {mode === "data" ? (
          <Data paint={paint} data={data} />
        ) : mode === "measured" || mode === "error" ? (
          <Results paint={paint} result={result} />
        ) : mode === "time" || mode === "bytes" || mode === "flops" ? (
          <Scale paint={paint} overlay={overlay} />
        ) : mode === "mapped" ? (
          MLX_STATES.slice(1).map((state, i) => (
            <Swatch key={state} color={mlxColor(i + 1)}>
              {state} on MLX
            </Swatch>
          ))
        ) : mode === "type" ? (
          <Weights overlay={overlay} />
        ) : mode === "segment" ? (
          <Segments route={route} />
        ) : devices.length === 0 ? (
          <span>{routing ? "Computing the route …" : "No route for this stage"}</span>
        ) : (
          <>
            {mode === "planned" ? <TruthMark truth="planned" /> : null}
            <span className={styles["devices"]}>
              {devices.map(({ device, ops }) => (
                <button
                  key={device}
                  type="button"
                  aria-pressed={isolated === device}
                  title={`Only ${deviceLook(device).name} (${deviceLook(device).letter})`}
                  onClick={() => isolate(device)}
                >
                  <DeviceChip device={device}>
                    {deviceLook(device).short} {count(ops)}
                    {deviceTime(route, device)}
                  </DeviceChip>
                </button>
              ))}
            </span>
            {mode === "device" && route !== null ? <WithoutOperation route={route} /> : null}
          </>
        )}
      </div>
      {mode === "device" || mode === "segment" ? <Kinds kinds={kinds} /> : null}
    </div>
  );
}

/** With those on devices they are all ops of the program that the pipeline counts. */
function WithoutOperation({ route }: { readonly route: RouteView }): ReactNode {
  const ops = opsWithoutOperation(route);
  return ops === 0 ? null : (
    <span title={NO_OPERATION_WORDS}>
      {NO_OPERATION_TITLE} {count(ops)}
    </span>
  );
}

/** ", ~5.5 ms": of all that runs there. */
function deviceTime(route: RouteView | null, device: Device): string {
  const own = route?.devices.find((row) => row.device === device);
  return own === undefined ? "" : `, ${approximate(seconds(own.seconds.value))}`;
}

/** Segments with room in one line; the list in the inspector has all. */
const MOST_SEGMENTS = 8;

/** Segments in the hues of their frames: a press selects one. */
function Segments({ route }: { readonly route: RouteView | null }): ReactNode {
  const selection = useGraph((s) => s.selection);
  const select = useGraph((s) => s.select);
  if (route === null) return <span>No segments for this stage</span>;
  const chosen = selection.kind === "segment" ? selection.index : -1;
  return (
    <>
      {route.segments.slice(0, MOST_SEGMENTS).map((segment) => (
        <button
          key={segment.index}
          type="button"
          className={styles["pick"]}
          aria-pressed={segment.index === chosen}
          title={segment.title}
          onClick={() =>
            select(segment.index === chosen ? { kind: "none" } : { kind: "segment", index: segment.index })
          }
        >
          <Swatch color={segmentColor(segment.index)}>
            {segment.index + 1} {deviceLook(segment.device).short} {segmentWork(segment)}
          </Swatch>
        </button>
      ))}
      {route.segments.length > MOST_SEGMENTS ? <span>{route.segments.length - MOST_SEGMENTS} more</span> : null}
    </>
  );
}

/** What kinds of ops there are; a press finds them. */
function Kinds({ kinds }: { readonly kinds: LegendProps["kinds"] }): ReactNode {
  const query = useGraph((s) => s.graphQuery);
  const setQuery = useGraph((s) => s.setGraphQuery);
  return (
    <span className={styles["kinds"]} role="group" aria-label="Kinds of ops">
      {kinds.map(({ kind, ops }) => (
        <button
          key={kind}
          type="button"
          className={styles["pick"]}
          aria-pressed={hasFacet(query, `kind:${kind}`)}
          title={`${plural(ops, "op")}: find them`}
          onClick={() => setQuery(withFacet(query, `kind:${kind}`))}
        >
          <KindGlyph kind={kind} />
          {kind}
        </button>
      ))}
    </span>
  );
}

/** How the weights are packed: the types that this graph has. */
function Weights({ overlay }: { readonly overlay: OverlayView | null }): ReactNode {
  if (overlay?.kind !== "type") return null;
  if (overlay.legend.length === 0) return <span>No op of this graph reads a weight</span>;
  const colors = weightColors(overlay.legend);
  return (
    <>
      {overlay.legend.map((text, i) => (
        <Swatch key={text} color={colors[i] ?? NOTHING_KNOWN}>
          {text}
        </Swatch>
      ))}
      <Swatch color={NOTHING_KNOWN}>no weight</Swatch>
    </>
  );
}

function Swatch({ color, children }: { readonly color: string; readonly children: ReactNode }): ReactNode {
  return (
    <span className={styles["swatch"]}>
      <i style={{ background: color }} />
      {children}
    </span>
  );
}

/** The active filter, and the button that clears it. */
function OnlyNote({ highlight }: { readonly highlight: Highlight | null }): ReactNode {
  const only = useGraph((s) => s.only);
  const showOnly = useGraph((s) => s.showOnly);
  if (highlight === null || only === null) return null;
  return (
    <span className={styles["only"]}>
      {highlight.sentence}
      <Step label="Show everything again" keys={only === "path" ? "P" : "X"} onClick={() => showOnly(only)}>
        <b aria-hidden="true">×</b>
      </Step>
    </span>
  );
}

const STOPS = [0, 0.25, 0.5, 0.75, 1].map(heatColor).join(", ");

function Scale({ paint, overlay }: { readonly paint: Paint; readonly overlay: OverlayView | null }): ReactNode {
  const failed = useGraph((s) => s.overlay.kind === "failed");
  const whole = overlay?.whole?.value;
  const text = (value: number): string => {
    if (paint.mode === "time") return timeOf(value, whole);
    return paint.mode === "flops" ? quantity(value, "flops") : bytes(value);
  };
  const what = paint.mode === "flops" ? "arithmetic" : paint.mode;
  if (overlay?.kind !== paint.mode)
    return (
      <>
        <i className={cx(styles["scale"], styles["waiting"])} aria-hidden="true" />
        <span role="status">
          {failed ? `The ${what} of each op could not be estimated` : `Estimating the ${what} of each op …`}
        </span>
      </>
    );
  return (
    <>
      <TruthMark truth={overlay.truth} />
      <span className={styles["number"]}>{text(paint.low)}</span>
      <i className={styles["scale"]} style={{ background: `linear-gradient(90deg, ${STOPS})` }} aria-hidden="true" />
      <span className={styles["number"]}>{text(paint.high)}</span>
      <span>{paint.mode === "time" ? "of estimated time, logarithmic" : "logarithmic"}</span>
    </>
  );
}

/** Numbers of a file: their range, its name, and how many of them are about this graph. */
function Data({ paint, data }: { readonly paint: Paint; readonly data: NodeDataColumn | null }): ReactNode {
  const file = useGraph((s) => s.nodeData);
  const drop = useGraph((s) => s.dropNodeData);
  if (file === null || data === null) return null;
  const ramp = [0, 0.25, 0.5, 0.75, 1].map((at) => rampColor(file.gradient, at)).join(", ");
  return (
    <>
      <span className={styles["number"]}>{significant(paint.low)}</span>
      <i className={styles["scale"]} style={{ background: `linear-gradient(90deg, ${ramp})` }} aria-hidden="true" />
      <span className={styles["number"]}>{significant(paint.high)}</span>
      <span>
        {file.name}: {count(data.known)} of {plural(file.values.size, "entry", "entries")} named here
        {file.skipped > 0 ? `, ${count(file.skipped)} were no numbers` : ""}
      </span>
      <button type="button" className={styles["step"]} aria-label="Remove the node data" title="Remove" onClick={drop}>
        <b aria-hidden="true">×</b>
      </button>
    </>
  );
}

/** A measured column: its source, and its coverage of this graph. */
function Results({ paint, result }: { readonly paint: Paint; readonly result: ResultColumn | null }): ReactNode {
  const profile = useGraph((s) => s.profiled);
  const errors = useGraph((s) => s.weightErrors);
  const phase = useGraph((s) => s.phase);
  if (result === null) return <span>Nothing was measured.</span>;
  const text = paint.mode === "measured" ? seconds : errorText;
  const what =
    paint.mode === "measured"
      ? `of one ${phase === "decode" ? "token" : "chunk"} on this machine’s ${profile?.device.toUpperCase() ?? ""}, ${fineShare(result.covered)} of it stands on ops shown here`
      : `relative error of weights in the package of ${errors?.target.profile ?? ""} profile; grey ops have no weight`;
  return (
    <>
      <TruthMark truth={result.truth} />
      <span className={styles["number"]}>{text(paint.low)}</span>
      <i className={styles["scale"]} style={{ background: `linear-gradient(90deg, ${STOPS})` }} aria-hidden="true" />
      <span className={styles["number"]}>{text(paint.high)}</span>
      <span>{what}</span>
    </>
  );
}

/** The chosen pass: counts of its changes, its side, and the steps from change to change. */
function ChangeLegend(): ReactNode {
  const stage = useGraph((s) => s.graphStage);
  const changes = useGraph((s) => s.stageChanges);
  const setSide = useGraph((s) => s.setPassSide);
  const nextChange = useGraph((s) => s.nextChange);
  if (!isPass(stage) || changes === null) return null;
  const shown = (["added", "removed", "changed"] as const).filter((kind) => changes.counts[kind] > 0);
  return (
    <>
      <Segmented label="Side of the pass" value={stage.side} options={SIDES} onChange={setSide} />
      {shown.map((kind) => (
        <span key={kind} className={cx(styles["change"], styles[kind])}>
          <i aria-hidden="true">{CHANGE_SIGNS[kind]}</i>
          {count(changes.counts[kind])} {kind}
        </span>
      ))}
      {shown.length === 0 ? <span>This pass changed nothing.</span> : null}
      {changes.regions.length === 0 ? null : (
        <>
          <Step label="Previous change" keys="K" onClick={() => nextChange(-1)}>
            ‹ <span>Previous</span>
          </Step>
          <Step label="Next change" keys="J" onClick={() => nextChange(1)}>
            <span>Next change</span> ›
          </Step>
          <span className={styles["regions"]}>{plural(changes.regions.length, "region")}</span>
        </>
      )}
    </>
  );
}

const SIDES = [
  { id: "before", text: "Before", hint: "The graph that the pass was given" },
  { id: "after", text: "After", hint: "The graph that it made" },
] as const;

interface StepProps {
  readonly label: string;
  readonly keys: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

/** Without room the text is hidden; the accessible name stays. */
function Step({ label, keys, onClick, children }: StepProps): ReactNode {
  return (
    <button type="button" className={styles["step"]} title={`${label} (${keys})`} aria-label={label} onClick={onClick}>
      {children}
    </button>
  );
}
