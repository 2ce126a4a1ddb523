/** The way past a machine that is not quiet, with what it costs. */
import type { ReactNode } from "react";
import { Button } from "./Button.tsx";
import { Note } from "./Card.tsx";
import styles from "./layout.module.css";

export function MeasureAnyway({ onMeasure }: { readonly onMeasure: () => void }): ReactNode {
  return (
    <div className={styles["wrap"]}>
      <Button small onClick={onMeasure}>
        Measure anyway
      </Button>
      <Note>The result is then marked, and compared with none.</Note>
    </div>
  );
}
