/** A sentence of the engine: without the mark that is for logs, and what stands in backticks as a command that is not broken. */
import type { ReactNode } from "react";
import styles from "./Words.module.css";

/** "[mlx] the engine is missing" → "The engine is missing". */
export function withoutMark(text: string): string {
  const bare = text.replace(/^\[[^\]]+\]\s*/, "");
  return bare === text ? text : bare.charAt(0).toUpperCase() + bare.slice(1);
}

export function Words({ text }: { readonly text: string }): ReactNode {
  return withoutMark(text)
    .split("`")
    .map((part, i) =>
      i % 2 === 0 ? (
        part
      ) : (
        <code key={i} className={styles["code"]}>
          {part}
        </code>
      ),
    );
}
