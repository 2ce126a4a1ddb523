/** Labels with their values, right-aligned in tabular monospace. */
import type { ReactNode } from "react";
import styles from "./Facts.module.css";

export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [label: ReactNode, value: ReactNode])[];
}): ReactNode {
  return (
    <dl className={styles["facts"]}>
      {rows.map(([label, value], i) => (
        <div key={i}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
