/** Nothing yet, and something on the way: both say what will be here and keep its room. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { cx } from "./cx.ts";
import { duration } from "./format.ts";
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
  /** When it began, by Date.now(), of what goes on while another tab is shown; else when this was shown first. */
  readonly since?: number;
}

/** Whole seconds; what is quicker than one needs no clock. */
function useElapsed(since: number | undefined): number {
  const [shown] = useState(() => Date.now());
  const began = since ?? shown;
  const [now, setNow] = useState(shown);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.floor((now - began) / 1000));
}

/** A bar only where a fraction is known; otherwise something that moves, and the time of the whole wait, whatever it says now. */
export function Progress({ sentence, fraction, since }: ProgressProps): ReactNode {
  const elapsed = useElapsed(since);
  return (
    <div className={styles["progress"]} role="status">
      <div className={styles["row"]}>
        <span>{sentence}</span>
        {/* Not read aloud: it would be, every second. */}
        {elapsed === 0 ? null : (
          <span className={styles["elapsed"]} aria-hidden="true">
            {duration(elapsed)}
          </span>
        )}
      </div>
      <div className={cx(styles["bar"], fraction === null && styles["unknown"])} aria-hidden="true">
        <i style={fraction === null ? undefined : { width: `${Math.round(fraction * 1000) / 10}%` }} />
      </div>
    </div>
  );
}
