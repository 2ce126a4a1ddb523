/**
 * Both graphs in one drawing: what B added, what only A had, what changed, by sign and colour. The list beside it walks from change
 * to change by the arrow keys, and the drawing follows.
 */
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { MergedGraph } from "../../../main/contract/views/compare.ts";
import { canvasPen, createPatterns } from "../../canvas/canvasPen.ts";
import { readColors } from "../../canvas/readColors.ts";
import { CHANGE_SIGNS } from "../../drawing/changes.ts";
import type { GraphPicture } from "../../drawing/graphPicture.ts";
import type { Viewport } from "../../drawing/lod.ts";
import { boundsOf, fitViewport, ZOOM } from "../../drawing/lod.ts";
import type { ListedChange } from "../../drawing/mergedChanges.ts";
import { listedChanges, mergedChanges } from "../../drawing/mergedChanges.ts";
import { onePicture } from "../../drawing/onePicture.ts";
import { drawPicture, pictureInput } from "../../drawing/svgPicture.ts";
import { textWidth } from "../../drawing/textWidth.ts";
import { createGraphModel, pathOf } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count } from "../../ui/format.ts";
import { onThemeChange } from "../../ui/theme.ts";
import { useSize } from "../../ui/useSize.ts";
import { useCompare } from "./useCompare.ts";
import styles from "./Compare.module.css";

export function MergedCard(): ReactNode {
  const state = useCompare((s) => s.merged);
  const merged = current(state);
  if (state.kind === "failed") return <ErrorNote title="The graphs could not be merged" error={state.error} />;
  return merged === null ? null : <Merged merged={merged} />;
}

function Merged({ merged }: { readonly merged: MergedGraph }): ReactNode {
  const model = useMemo(() => createGraphModel(merged.view), [merged]);
  const changes = useMemo(() => mergedChanges(model, merged), [model, merged]);
  const list = useMemo(() => listedChanges(model, changes), [model, changes]);
  /** The change that is looked at; -1: the whole. */
  const [at, setAt] = useState(-1);
  useEffect(() => setAt(-1), [merged]);
  const chosen = list[at] ?? null;
  const picture = useMemo(() => {
    const open = new Set(chosen === null ? [] : pathOf(model.view, chosen.node));
    const shown = { model, route: null, overlay: null, mode: "type", open, changes } as const;
    return onePicture({ ...shown, selected: chosen?.node ?? -1 });
  }, [model, changes, chosen]);
  const { added, removed, changed } = changes.counts;
  return (
    <Card title="Both graphs in one" aside={`+${count(added)} −${count(removed)} ~${count(changed)}`}>
      <div className={styles["merged"]}>
        <ChangeList list={list} at={at} onAt={setAt} />
        <Drawing picture={picture} node={chosen?.node ?? -1} onWhole={() => setAt(-1)} />
      </div>
    </Card>
  );
}

interface ChangeListProps {
  readonly list: readonly ListedChange[];
  readonly at: number;
  readonly onAt: (at: number) => void;
}

const rowId = (index: number): string => `merged-${index}`;

export function ChangeList({ list, at, onAt }: ChangeListProps): ReactNode {
  const box = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (at >= 0) box.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = changeAfter(event.key, at, list.length);
    if (to === null) return;
    event.preventDefault();
    onAt(to);
  };
  return (
    <ul
      ref={box}
      className={styles["changes"]}
      role="listbox"
      aria-label="Changes from A to B"
      tabIndex={0}
      aria-activedescendant={at < 0 ? undefined : rowId(at)}
      onKeyDown={onKeyDown}
    >
      {list.map(({ kind, op, name, place, count: many }, i) => (
        <li
          key={i}
          id={rowId(i)}
          role="option"
          aria-selected={i === at}
          className={cx(i === at && styles["on"])}
          onClick={() => onAt(i)}
        >
          <strong className={styles[kind]}>
            {CHANGE_SIGNS[kind]}
            <span className="visually-hidden"> {kind}</span>
          </strong>
          <span>
            <code>{op}</code> {name === op ? "" : name}
            {many === 1 ? "" : ` ×${count(many)}`}
            <small>{place}</small>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Where a key leads from an entry of a list; null: nowhere. Escape leads back to the whole. */
export function changeAfter(key: string, at: number, length: number): number | null {
  if (key === "ArrowDown") return Math.min(length - 1, at + 1);
  if (key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return key === "Escape" && at >= 0 ? -1 : null;
}

/** Near enough to read a card. */
const NEAR = 0.9;
const MARGIN = 16;

/** The whole, or what is around a node in the middle. */
function viewOf({ picture: { scene } }: GraphPicture, node: number, width: number, height: number): Viewport {
  const box = node < 0 ? -1 : (scene.boxOfNode[node] ?? -1);
  if (box < 0) return fitViewport(boundsOf(scene), width, height, MARGIN, 1);
  const [x, y] = [(scene.x[box] ?? 0) + (scene.w[box] ?? 0) / 2, (scene.y[box] ?? 0) + (scene.h[box] ?? 0) / 2];
  return { zoom: NEAR, x: width / 2 - x * NEAR, y: height / 2 - y * NEAR };
}

interface DrawingProps {
  readonly picture: GraphPicture;
  readonly node: number;
  readonly onWhole: () => void;
}

function Drawing({ picture, node, onWhole }: DrawingProps): ReactNode {
  const [host, { width, height }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<Viewport | null>(null);
  const [look, setLook] = useState(0);
  useEffect(() => onThemeChange(() => setLook((before) => before + 1)), []);
  useEffect(() => setView(null), [picture, node, width, height]);
  const { zoom: at, x, y } = view ?? viewOf(picture, node, width, height);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || width === 0 || height === 0) return;
    const ratio = devicePixelRatio;
    const colors = readColors(document.documentElement);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width * ratio, height * ratio);
    context.setTransform(at * ratio, 0, 0, at * ratio, x * ratio, y * ratio);
    const frame = { viewport: { zoom: at, x, y }, size: { width, height } };
    const own = { colors, patterns: createPatterns(colors) };
    drawPicture(canvasPen(context), pictureInput(picture, frame, own, textWidth));
  }, [picture, at, x, y, width, height, look]);
  const zoomBy = (factor: number): void => {
    const zoom = Math.min(ZOOM.max, Math.max(ZOOM.min, at * factor));
    const share = zoom / at;
    setView({ zoom, x: width / 2 - (width / 2 - x) * share, y: height / 2 - (height / 2 - y) * share });
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (event.buttons === 1) setView({ zoom: at, x: x + event.movementX, y: y + event.movementY });
  };
  return (
    <div ref={host} className={styles["drawing"]}>
      <canvas
        ref={canvas}
        role="img"
        aria-label="Both graphs in one drawing; the list beside it says what differs"
        width={Math.round(width * devicePixelRatio)}
        height={Math.round(height * devicePixelRatio)}
        style={{ width, height }}
        onPointerMove={onPointerMove}
      />
      <div className={styles["zoom"]}>
        <Button small onClick={() => zoomBy(0.8)}>
          −<span className="visually-hidden"> smaller</span>
        </Button>
        <Button small onClick={() => zoomBy(1.25)}>
          +<span className="visually-hidden"> larger</span>
        </Button>
        <Button
          small
          onClick={() => {
            setView(null);
            onWhole();
          }}
        >
          Whole
        </Button>
      </div>
    </div>
  );
}
