/** Cosines of texts as a matrix: the number in each cell, and a ground that is the stronger the more alike they are. */
import type { CSSProperties, ReactNode } from "react";
import { shade } from "./shade.ts";
import styles from "./Embed.module.css";

/** More texts than this would be a picture without words. */
const MOST = 24;

export function Matrix({
  texts,
  cosines,
}: {
  readonly texts: readonly string[];
  readonly cosines: Float32Array;
}): ReactNode {
  const shown = texts.slice(0, MOST);
  const at = (row: number, column: number): number => cosines[row * texts.length + column] ?? NaN;
  const least = Math.min(...shown.flatMap((_, r) => shown.map((__, c) => at(r, c))));
  return (
    <div className={styles["scroll"]}>
      <table className={styles["matrix"]} aria-label="Cosine of each text with each other">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">text</span>
            </th>
            {shown.map((text, c) => (
              <th key={c} scope="col" title={text}>
                {c + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((text, r) => (
            <tr key={r}>
              <th scope="row" title={text}>
                <span>{r + 1}</span>
                {text}
              </th>
              {shown.map((_, c) => (
                <td key={c} style={{ "--shade": `${shade(at(r, c), least)}%` } as CSSProperties}>
                  {at(r, c).toFixed(2)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {texts.length > MOST ? (
        <p className={styles["says"]}>
          The first {MOST} of {texts.length} texts.
        </p>
      ) : null}
    </div>
  );
}
