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
}

/** Whole seconds since this was shown first; what is quicker than one needs no clock. */
function useElapsed(): number {
  const [elapsed, setElapsed] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setElapsed(Math.floor((Date.now() - began) / 1000)), 500);
    return () => clearInterval(timer);
  }, []);
  return elapsed;
}

/** A bar only where a fraction is known; otherwise something that moves, and the time. */
export function Progress({ sentence, fraction }: ProgressProps): ReactNode {
  const elapsed = useElapsed();
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
