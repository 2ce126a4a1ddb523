/** Export: the forms of the weights in the package, and the report of every weight. */
import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";
import { useMemo, useRef, useState } from "react";
import type { ExportPlan, WeightRow } from "../../../main/contract/views/export.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { SearchField } from "../../ui/fields.tsx";
import { bytes, count, errorShare, figureText, plural, significant } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import { Empty } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { WritePanel, Written } from "../../writing/WritePanel.tsx";
import type { ExportReport, ExportSlice } from "./slice.ts";
import { hasPlan } from "./slice.ts";
import styles from "./Export.module.css";

const useExport = sliceHook<ExportSlice>();

const WORDS = { thing: "package", verb: "Export", title: "An .mlpackage for this target" } as const;

export function ExportTab(): ReactNode {
  const overview = useExport((s) => current(s.model));
  const target = useExport((s) => s.target);
  const state = useExport((s) => s.exporting);
  const actions = useExport((s) => s.exportActions);
  if (overview === null) return null;
  if (!overview.canExport.ok && !hasPlan(overview))
    return (
      <Empty title="This cannot be exported here">
        {overview.canExport.sentence} {overview.canExport.hint ?? ""}
      </Empty>
    );
  const { report, work } = state;
  return (
    <WritePanel
      words={WORDS}
      state={state}
      actions={actions}
      about={target}
      aside={(plan) => <TruthMark truth={plan.bytes.truth} />}
      report={report === null ? null : <Report report={report} before={work.kind !== "none"} />}
    >
      {(plan) => ({ body: <Forms plan={plan} /> })}
    </WritePanel>
  );
}

function Forms({ plan }: { readonly plan: ExportPlan }): ReactNode {
  const rest = plan.bytes.value - plan.forms.reduce((sum, form) => sum + form.bytes, 0);
  return (
    <>
      <p>{plan.sentence}</p>
      <table className={cx(table["table"], styles["forms"])}>
        <thead>
          <tr>
            <th>in the file</th>
            <th className={table["left"]}>in the package</th>
            <th>bits</th>
            <th>tensors</th>
            <th>size</th>
          </tr>
        </thead>
        <tbody>
          {plan.forms.map((form) => (
            <tr key={`${form.source}/${form.form}`}>
              <td>{form.source}</td>
              <td className={table["left"]}>{form.form}</td>
              <td>{significant(form.bitsPerWeight)}</td>
              <td>{count(form.tensors)}</td>
              <td>{bytes(form.bytes)}</td>
            </tr>
          ))}
          {rest > 0 ? (
            <tr>
              <td>–</td>
              <td className={table["left"]}>program, constants and padding</td>
              <td />
              <td />
              <td>{bytes(rest)}</td>
            </tr>
          ) : null}
          <tr>
            <td className={table["total"]}>Together</td>
            <td className={table["left"]}>
              {plan.functions.join(" and ")}
              {plan.functions.length > 1 ? ", sharing weights" : ""}
            </td>
            <td />
            <td />
            <td className={table["total"]}>
              <FigureText figure={plan.bytes} />
            </td>
          </tr>
        </tbody>
      </table>
    </>
  );
}

interface ReportProps {
  readonly report: ExportReport;
  /** Another export has begun since. */
  readonly before: boolean;
}

function Report({ report, before }: ReportProps): ReactNode {
  const [query, setQuery] = useState("");
  const rows = useMemo(() => {
    const text = query.toLowerCase();
    return report.weights.filter((row) => `${row.name} ${row.source} ${row.form}`.toLowerCase().includes(text));
  }, [report, query]);
  return (
    <Written
      seconds={figureText(report.seconds)}
      paths={[report.path]}
      before={before}
      sentence={`${bytes(report.bytes)}, ${significant(report.ratioToSource)} × the file. ${report.sentence}`}
      opens={false}
    >
      <div className={styles["tools"]}>
        <SearchField
          label="Search the weights"
          placeholder="Search names, types, forms"
          value={query}
          onChange={setQuery}
        />
        <span>
          {rows.length === report.weights.length
            ? plural(rows.length, "weight")
            : `${count(rows.length)} of ${plural(report.weights.length, "weight")}`}
        </span>
      </div>
      <WeightTable rows={rows} />
    </Written>
  );
}

const ROW = 24;

function WeightTable({ rows }: { readonly rows: readonly WeightRow[] }): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- only the compiler minds, and we do not use it
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 15,
  });
  return (
    <div
      ref={scroller}
      className={styles["weights"]}
      role="table"
      aria-label="Weights"
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div role="row" aria-rowindex={1} className={styles["head"]}>
        {["weight", "in the file", "in the package", "bits", "error", "size"].map((title) => (
          <div key={title} role="columnheader">
            {title}
          </div>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.name}
              role="row"
              aria-rowindex={index + 2}
              className={styles["row"]}
              style={{ transform: `translateY(${start}px)` }}
              title={row.note ?? undefined}
            >
              <div role="cell">{row.name}</div>
              <div role="cell">{row.source}</div>
              <div role="cell">{row.form}</div>
              <div role="cell">{significant(row.bitsPerWeight)}</div>
              <div role="cell">{errorShare(row.relativeRms)}</div>
              <div role="cell">{bytes(row.bytes)}</div>
            </div>
          );
        })}
      </div>
    </div>
  );
}
