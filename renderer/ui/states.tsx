/** Nothing yet, and something on the way: both say what will be here and keep its room. */
import type { ReactNode } from "react";
import { cx } from "./cx.ts";
import { seconds } from "./format.ts";
import styles from "./states.module.css";

export interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Empty({ title, children, action }: EmptyProps): ReactNode {
  return (
    <div className={styles["empty"]}>
      <strong>{title}</strong>
      {children === undefined ? null : <p>{children}</p>}
      {action}
    </div>
  );
}

export interface ProgressProps {
  readonly sentence: string;
  readonly fraction: number | null;
  readonly elapsedSeconds: number | null;
}

/** A bar only where a fraction is known; otherwise something that moves, and the time. */
export function Progress({ sentence, fraction, elapsedSeconds }: ProgressProps): ReactNode {
  return (
    <div className={styles["progress"]} role="status">
      <div className={styles["row"]}>
        <span>{sentence}</span>
        {elapsedSeconds === null ? null : <span className={styles["elapsed"]}>{seconds(elapsedSeconds)}</span>}
      </div>
      <div className={cx(styles["bar"], fraction === null && styles["unknown"])} aria-hidden="true">
        <i style={fraction === null ? undefined : { width: `${Math.round(fraction * 1000) / 10}%` }} />
      </div>
    </div>
  );
}
