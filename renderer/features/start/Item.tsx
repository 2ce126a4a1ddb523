/** A row of the first screen: what can be opened, with a sentence and a word at its end. */
import type { ReactNode } from "react";
import styles from "./Start.module.css";

export function Item({
  glyph,
  kind,
  title,
  sentence,
  aside,
  below = "",
}: {
  readonly glyph: string;
  /** What the glyph stands for. */
  readonly kind: string;
  readonly title: string;
  readonly sentence: string;
  readonly aside: string;
  /** Under the word at the end. */
  readonly below?: string;
}): ReactNode {
  return (
    <>
      <span className={styles["tile"]} title={kind}>
        <svg width="16" height="16" viewBox="0 0 10 10" role="img" aria-label={kind}>
          <path d={glyph} />
        </svg>
      </span>
      <span className={styles["words"]}>
        <b>{title}</b>
        <span>{sentence}</span>
      </span>
      <span className={styles["aside"]}>
        {aside}
        {below === "" ? null : <span>{below}</span>}
      </span>
    </>
  );
}
