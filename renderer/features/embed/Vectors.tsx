/** The vectors themselves: how long, the first numbers of each, and all of them to copy. */
import type { ReactNode } from "react";
import type { Embedded } from "../../../main/contract/views/embed.ts";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { count, plural } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import styles from "./Embed.module.css";

const SHOWN = 5;

export function Vectors({ texts, done }: { readonly texts: readonly string[]; readonly done: Embedded }): ReactNode {
  const json = (): string =>
    JSON.stringify(
      done.texts.map(({ vectors }, i) => ({ text: texts[i], vectors: rowsOf(vectors, done.width) })),
      null,
      1,
    );
  return (
    <details className={styles["vectors"]}>
      <summary>
        {plural(done.width, "number")} each, pooling {done.pooling}
        {done.normalised ? ", of length 1" : ""}
      </summary>
      <div className={styles["scroll"]}>
        <table className={table["table"]}>
          <thead>
            <tr>
              <th className={table["left"]}>text</th>
              <th>tokens</th>
              <th className={table["left"]}>first numbers</th>
            </tr>
          </thead>
          <tbody>
            {done.texts.map(({ tokens, vectors }, i) => (
              <tr key={i}>
                <td className={cx(table["text"], styles["text"])}>{texts[i]}</td>
                <td>{count(tokens)}</td>
                <td className={table["left"]}>
                  {[...vectors.subarray(0, SHOWN)].map((x) => x.toFixed(4)).join("  ")} …
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className={styles["actions"]}>
        <CopyButton label="Copy as JSON" text={json} />
      </div>
    </details>
  );
}

const rowsOf = (data: Float32Array, width: number): number[][] =>
  Array.from({ length: data.length / Math.max(1, width) }, (_, r) => [...data.subarray(r * width, (r + 1) * width)]);
