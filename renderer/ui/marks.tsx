/** The small signs: device chips, truth marks, figures with their basis, meters. */
import type { CSSProperties, ReactNode } from "react";
import type { Device, Figure, Truth } from "../../main/contract/views/common.ts";
import { deviceLook } from "./devices.ts";
import { figureText, rangeText, spreadText } from "./format.ts";
import styles from "./marks.module.css";

const deviceStyle = (device: Device): CSSProperties =>
  ({ "--device": `var(${deviceLook(device).color})` }) as CSSProperties;

export function DeviceChip({
  device,
  children,
}: {
  readonly device: Device;
  readonly children?: ReactNode;
}): ReactNode {
  const look = deviceLook(device);
  return (
    <span className={styles["chip"]} data-pattern={look.pattern} style={deviceStyle(device)}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <path d={look.glyph} />
      </svg>
      {children ?? look.name}
    </span>
  );
}

/** How full the mark is says how sure we are. */
const FILLED: { readonly [T in Truth]: string } = {
  exact: "100%",
  measured: "100%",
  attributed: "50%",
  planned: "50%",
  predicted: "0%",
  simulated: "0%",
};

export interface TruthMarkProps {
  readonly truth: Truth;
  /** Another word for the same mark. */
  readonly word?: string;
  readonly children?: ReactNode;
}

export function TruthMark({ truth, word = truth, children }: TruthMarkProps): ReactNode {
  return (
    <span className={styles["mark"]}>
      <i
        className={styles["dot"]}
        data-shape={truth === "simulated" ? "square" : truth === "attributed" ? "hatched" : "round"}
        style={{ "--filled": FILLED[truth] } as CSSProperties}
        aria-hidden="true"
      />
      {word}
      {children}
    </span>
  );
}

/** A number; its basis is one hover away, `~` and the range say how far to trust it. */
export function FigureText({
  figure,
  range = false,
}: {
  readonly figure: Figure;
  readonly range?: boolean;
}): ReactNode {
  const spread = spreadText(figure);
  return (
    <span className={styles["figure"]} title={figure.basis === "" ? undefined : `${figure.truth}: ${figure.basis}`}>
      <span className={styles["number"]}>{range ? rangeText(figure) : figureText(figure)}</span>
      {spread === "" ? null : <span className={styles["spread"]}> {spread}</span>}
    </span>
  );
}

export function Meter({ value, label }: { readonly value: number; readonly label: string }): ReactNode {
  const percent = Math.min(100, Math.max(0, value * 100));
  return (
    <div className={styles["meter"]} role="img" aria-label={`${label}: ${Math.round(percent)} %`}>
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}
