/** The file's contents: quantisation by bytes, and the facts of the architecture. */
import type { CSSProperties, ReactNode } from "react";
import { Fragment } from "react";
import type { Overview } from "../../../main/contract/views/model.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { bytes, plural, share } from "../../ui/format.ts";
import styles from "./Overview.module.css";

/** Ink from strong to faint: devices keep their colours to themselves. */
const weightOf = (i: number, n: number): CSSProperties =>
  ({ "--weight": `${Math.round(64 - (48 * i) / Math.max(1, n - 1))}%` }) as CSSProperties;

export function MixCard({ overview }: { readonly overview: Overview }): ReactNode {
  const { mix } = overview;
  return (
    <Card title="Quantisation, by bytes" aside={plural(overview.file?.tensorCount ?? 0, "tensor")}>
      <div
        className={styles["mix"]}
        role="img"
        aria-label={mix.map((row) => `${row.type} ${share(row.share)}`).join(", ")}
      >
        {mix.map((row, i) => (
          <i
            key={row.type}
            style={{ flexGrow: Math.max(row.share, 0.001), ...weightOf(i, mix.length) }}
            title={row.type}
          />
        ))}
      </div>
      <div className={styles["mixRows"]}>
        {mix.map((row, i) => (
          <Fragment key={row.type}>
            <i style={weightOf(i, mix.length)} />
            <b>
              {row.type}, {plural(row.tensors, "tensor")}
            </b>
            <span>{bytes(row.bytes)}</span>
            <span>{share(row.share)}</span>
          </Fragment>
        ))}
      </div>
      {overview.mixSentence === null ? null : <Note>{overview.mixSentence}</Note>}
    </Card>
  );
}

export function FactsCard({ overview }: { readonly overview: Overview }): ReactNode {
  const { file, facts } = overview;
  return (
    <Card
      title={file === null ? "Inside the graph" : "Inside the file"}
      aside={file === null ? undefined : `${file.format}, ${plural(file.metadataCount, "key")}`}
      className={styles["wide"]}
    >
      <dl className={styles["facts"]}>
        {facts.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
