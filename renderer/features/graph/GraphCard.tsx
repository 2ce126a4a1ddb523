/** A near box as an element: an op, a group, a stack, or the header of an open frame. Two lines, no shadow. */
import type { NodeProps } from "@xyflow/react";
import type { CSSProperties, ReactNode } from "react";
import { createContext, memo, useContext } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import { DEVICES, deviceOf } from "../../../main/contract/views/common.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { OpKind } from "../../graph/opKinds.ts";
import { kindLook } from "../../graph/opKinds.ts";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { plural } from "../../ui/format.ts";
import { deviceFill } from "../../ui/patterns.tsx";
import { CHANGE_SIGNS } from "../../drawing/changes.ts";
import type { CardContext } from "../../drawing/cardContext.ts";
import { subtitleOf, titleOf } from "../../drawing/boxWords.ts";
import { cardText } from "../../drawing/cardText.ts";
import { isHeat } from "../../drawing/graphModes.ts";
import { KindGlyph } from "./KindGlyph.tsx";
import styles from "./GraphCard.module.css";

export const GraphCardContext = createContext<CardContext | null>(null);

/** React Flow gives the id; everything else comes from the picture. */
export const GraphCard = memo(function GraphCard({ id }: NodeProps): ReactNode {
  const context = useContext(GraphCardContext);
  const box = Number(id);
  if (context === null || box >= context.picture.scene.boxCount) return null;
  return context.picture.scene.kind[box] === BOX_KINDS.frame ? (
    <FrameHead box={box} context={context} />
  ) : (
    <BoxCard box={box} context={context} />
  );
});

interface Part {
  readonly box: number;
  readonly context: CardContext;
}

function BoxCard({ box, context }: Part): ReactNode {
  const { picture, paint, full, selectedBox, hits, changed } = context;
  const { scene } = picture;
  const isOp = scene.kind[box] === BOX_KINDS.op;
  const device = deviceOf(paint.device[box] ?? 0);
  const look = deviceLook(device);
  const dimmed = context.dimmed?.[box] === 1;
  const heat = paint.heat[box] ?? null;
  const change = changed.get(box);
  const inside = context.inside.get(box);
  const { name, right, under, small, type, warn, kind } = cardText(context, box);
  const planned = isOp ? context.planned(scene.ref[box] ?? 0) : null;
  return (
    <div
      className={cx(
        styles["card"],
        box === selectedBox && styles["selected"],
        hits.has(box) && styles["hit"],
        dimmed && styles["dimmed"],
        scene.kind[box] === BOX_KINDS.stack && styles["stack"],
        small && styles["small"],
        change !== undefined && styles[change],
      )}
      style={{ width: scene.w[box], height: scene.h[box], ...tintOf(kind) }}
    >
      <span className={cx(styles["bar"], isHeat(paint.mode) && styles["wide"])} aria-hidden="true">
        <svg width="100%" height="100%">
          <rect
            width="100%"
            height="100%"
            fill={heat ?? deviceFill(device)}
            {...(heat !== null
              ? { stroke: "var(--line-strong)", strokeWidth: 1 }
              : device === "host"
                ? { stroke: "var(--host)", strokeDasharray: "3 2" }
                : {})}
          />
        </svg>
      </span>
      {planned === null ? null : <PlannedBar device={planned} />}
      <span className={styles["line"]}>
        {device === "none" ? null : (
          <svg
            className={styles["glyph"]}
            viewBox="0 0 10 10"
            style={{ fill: `var(${look.color})` }}
            role="img"
            aria-label={look.name}
          >
            <path d={look.glyph} />
          </svg>
        )}
        <b>{name}</b>
        {kind === null || small ? null : <KindGlyph kind={kind} />}
        <em>{right}</em>
      </span>
      {change === undefined ? null : (
        <i className={styles["sign"]} role="img" aria-label={change} title={change}>
          {CHANGE_SIGNS[change]}
        </i>
      )}
      {small ? null : (
        <span className={styles["sub"]}>
          <span>{under}</span>
          {inside === undefined ? null : <strong>{plural(inside, "hop")} inside</strong>}
          {full && isOp ? <em>{type}</em> : null}
          {warn === null ? null : <i className={styles["warn"]} aria-label={warn} role="img" />}
        </span>
      )}
      {isOp ? null : <DeviceStrip box={box} context={context} />}
      {isOp && full && (paint.work[box] ?? 0) > 0.002 ? (
        <i
          className={styles["share"]}
          style={{ "--share": `${Math.min(100, (paint.work[box] ?? 0) * 100)}%` } as CSSProperties}
          aria-hidden="true"
        />
      ) : null}
    </div>
  );
}

/** What does the work has more ink in its body. */
function tintOf(kind: OpKind | null): CSSProperties {
  const tint = kind === null ? 0 : kindLook(kind).tint;
  return tint === 0 ? {} : { background: `color-mix(in srgb, var(--raised), var(--ink) ${tint * 100}%)` };
}

/** Beside the predicted device the planned one, where they differ. */
function PlannedBar({ device }: { readonly device: Device }): ReactNode {
  const { name } = deviceLook(device);
  return (
    <span className={styles["plannedBar"]} role="img" aria-label={`planned on ${name}`} title={`Planned on ${name}`}>
      <svg width="5" height="100%">
        <rect width="5" height="100%" fill={deviceFill(device)} />
      </svg>
    </span>
  );
}

/** A ribbon in small: which devices do a group's work. */
function DeviceStrip({ box, context: { paint } }: Part): ReactNode {
  const parts = DEVICES.flatMap((device, code) => {
    const share = paint.shares[box * DEVICES.length + code] ?? 0;
    return share > 0 ? [{ device, share }] : [];
  });
  if (parts.length < 2) return null;
  let x = 0;
  return (
    <svg className={styles["strip"]} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ device, share }) => {
        const at = x;
        x += share * 100;
        return <rect key={device} x={at} width={share * 100} height="4" fill={deviceFill(device)} />;
      })}
    </svg>
  );
}

function FrameHead({ box, context }: Part): ReactNode {
  const { picture, close } = context;
  const { scene } = picture;
  const note = context.note(box);
  const under = note === "" ? subtitleOf(picture, box) : `differs from the others: ${note}`;
  return (
    <div className={styles["frameHead"]} style={{ width: scene.w[box] }}>
      <b>{titleOf(picture, box)}</b>
      <span>{under}</span>
      <button
        type="button"
        className="nodrag nopan"
        tabIndex={-1}
        aria-label={`Fold ${titleOf(picture, box)}`}
        title="Fold"
        onClick={(event) => {
          event.stopPropagation();
          close(scene.ref[box] ?? 0);
        }}
      >
        −
      </button>
    </div>
  );
}
