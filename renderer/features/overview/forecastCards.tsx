/** Will it fit, how fast: both with the arithmetic. */
import type { ReactNode } from "react";
import type { FitView, SpeedView } from "../../../main/contract/views/model.ts";
import type { SumRow } from "../../../main/contract/views/common.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { count, rangeText, THIN } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { cx } from "../../ui/cx.ts";
import styles from "./Overview.module.css";

/** "2 B" stays on one line. */
const unbroken = (text: string): string => text.replaceAll(/(\d) (?=[A-Z]+\b)/g, `$1${THIN}`);

function SumRows({ rows, total }: { readonly rows: readonly SumRow[]; readonly total?: SumRow["value"] }): ReactNode {
  return (
    <table className={cx(table["table"], table["bleed"])}>
      <tbody>
        {rows.map(({ label, arithmetic, value }) => (
          <tr key={label}>
            <td className={table["text"]}>
              {label}
              {arithmetic === null ? null : <span className={styles["arithmetic"]}>, {unbroken(arithmetic)}</span>}
            </td>
            <td>
              <FigureText figure={value} />
            </td>
          </tr>
        ))}
        {total === undefined ? null : (
          <tr>
            <td className={cx(table["text"], table["total"])}>Together</td>
            <td className={table["total"]}>
              <FigureText figure={total} />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

export function FitCard({ fit }: { readonly fit: FitView }): ReactNode {
  return (
    <Card title="Will it fit?" aside={fit.machine}>
      <SumRows rows={fit.rows} total={fit.total} />
      <div style={{ marginTop: 8 }}>
        <Meter value={fit.total.value / Math.max(1, fit.available.value)} label="Share of the free memory" />
      </div>
      <Note>{fit.sentence}</Note>
    </Card>
  );
}

export function SpeedCard({ speed }: { readonly speed: SpeedView }): ReactNode {
  const withoutUnit = (text: string): string => text.replace(/\u202ft\/s$/, "");
  return (
    <Card
      title="How fast?"
      aside={
        <>
          <TruthMark truth={speed.generate.truth} /> for {speed.machine}
        </>
      }
    >
      <div className={styles["big"]}>
        <div>
          <strong>{withoutUnit(rangeText(speed.generate))}</strong>
          <span>tokens per second, writing</span>
        </div>
        <div>
          <strong>{rangeText(speed.prompt)}</strong>
          <span>to read {count(speed.promptTokens)} tokens</span>
        </div>
      </div>
      <SumRows rows={speed.rows} />
      <Note>{speed.sentence}</Note>
    </Card>
  );
}
