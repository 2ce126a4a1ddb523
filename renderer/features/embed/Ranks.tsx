/** Documents, the best first, with what they scored. */
import type { CSSProperties, ReactNode } from "react";
import { Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { count } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import type { EmbedAnswer } from "./slice.ts";
import styles from "./Embed.module.css";

export function Ranks({ answer }: { readonly answer: Extract<EmbedAnswer, { kind: "ranks" }> }): ReactNode {
  const { documents, done } = answer;
  const scores = done.results.map(({ score }) => score);
  const [most, least] = [Math.max(...scores), Math.min(...scores)];
  const share = (score: number): number => (most === least ? 1 : (score - least) / (most - least));
  return (
    <>
      <table className={cx(table["table"], table["bleed"])} aria-label="Documents, the best first">
        <thead>
          <tr>
            <th>{done.by === "score" ? "score" : "cosine"}</th>
            <th className={table["left"]}>document</th>
            <th>tokens</th>
          </tr>
        </thead>
        <tbody>
          {done.results.map(({ document, score, tokens }) => (
            <tr key={document}>
              <td
                className={styles["score"]}
                style={{ "--share": `${Math.round(share(score) * 100)}%` } as CSSProperties}
              >
                {score.toFixed(4)}
              </td>
              <td className={cx(table["text"], styles["text"])}>{documents[document]}</td>
              <td>{count(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {done.by === "cosine" ? <Note>This model is not a reranker: these are the cosines of its vectors.</Note> : null}
    </>
  );
}
