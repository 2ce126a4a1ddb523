/** Export: the plan, progress with cancel, and the report of every weight. */
import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ExportPlan, WeightRow } from "../../../main/contract/views/export.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { SearchField } from "../../ui/fields.tsx";
import { bytes, count, errorShare, figureText, plural, significant } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import type { ExportReport, ExportSlice } from "./slice.ts";
import { hasPlan, isSuggestedFolder, isThereAlready } from "./slice.ts";
import styles from "./Export.module.css";

const useExport = sliceHook<ExportSlice>();

export function ExportTab(): ReactNode {
  const overview = useExport((s) => current(s.model));
  const target = useExport((s) => s.target);
  const load = useExport((s) => s.loadExportPlan);
  const state = useExport((s) => s.exportPlan);
  useEffect(() => void load(), [load, target]);
  if (overview === null) return null;
  if (!overview.canExport.ok && !hasPlan(overview))
    return (
      <Empty title="This cannot be exported here">
        {overview.canExport.sentence} {overview.canExport.hint ?? ""}
      </Empty>
    );
  const plan = current(state);
  return (
    <div className={styles["tab"]}>
      {state.kind === "failed" ? (
        <ErrorNote title="The export could not be planned" error={state.error} onRetry={() => void load()} />
      ) : null}
      {plan === null ? (
        state.kind === "failed" ? null : (
          <Progress sentence="Planning the package" fraction={null} />
        )
      ) : (
        <PlanCard plan={plan} />
      )}
      <Outcome />
    </div>
  );
}

function PlanCard({ plan }: { readonly plan: ExportPlan }): ReactNode {
  const rest = plan.bytes.value - plan.forms.reduce((sum, form) => sum + form.bytes, 0);
  return (
    <Card title="An .mlpackage for this target" aside={<TruthMark truth={plan.bytes.truth} />}>
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
            <td className={table["left"]}>{plan.functions.join(" and ")}, sharing weights</td>
            <td />
            <td />
            <td className={table["total"]}>
              <FigureText figure={plan.bytes} />
            </td>
          </tr>
        </tbody>
      </table>
      {plan.can.ok ? (
        <Where plan={plan} />
      ) : (
        <Note>
          {plan.can.sentence} {plan.can.hint ?? ""}
        </Note>
      )}
    </Card>
  );
}

const REPLACE = "replace an existing package";

function Where({ plan }: { readonly plan: ExportPlan }): ReactNode {
  const path = useExport((s) => s.exportPath);
  const setPath = useExport((s) => s.setExportPath);
  const overwrite = useExport((s) => s.exportOverwrite);
  const setOverwrite = useExport((s) => s.setOverwrite);
  const running = useExport((s) => s.exportRunning);
  const start = useExport((s) => s.startExport);
  const pick = useExport((s) => s.pickExportPath);
  // A shell has the system's dialog; in a browser the path on the engine's machine is typed.
  const hasDialog = useExport((s) => s.showInFolder !== null);
  return (
    <>
      <div className={styles["where"]}>
        <input
          aria-label="Where to write the package"
          value={path}
          spellCheck={false}
          disabled={running}
          onChange={(event) => setPath(event.target.value)}
        />
        {hasDialog ? (
          <Button disabled={running} onClick={() => void pick()}>
            Choose…
          </Button>
        ) : null}
        <Button look="primary" disabled={running || path.trim() === ""} onClick={() => void start()}>
          Export
        </Button>
      </div>
      <div className={styles["below"]}>
        <label>
          <input
            type="checkbox"
            checked={overwrite}
            disabled={running}
            onChange={(event) => setOverwrite(event.target.checked)}
          />{" "}
          {REPLACE}
        </label>
        {plan.freeDiskBytes === null || !isSuggestedFolder(path, plan) ? null : (
          <span>{bytes(plan.freeDiskBytes)} free on that disk</span>
        )}
      </div>
    </>
  );
}

function Outcome(): ReactNode {
  const running = useExport((s) => s.exportRunning);
  const report = useExport((s) => s.exportReport);
  const error = useExport((s) => s.exportError);
  const said = useExport((s) => s.exportSaid);
  const start = useExport((s) => s.startExport);
  return (
    <>
      {running ? <Running /> : null}
      {error === null ? null : isThereAlready(error) ? (
        <AlreadyThere error={error} />
      ) : (
        <ErrorNote
          title="The package was not written"
          error={error}
          // The same path would fail again: another one is typed above.
          onRetry={error.code === "INPUT_ARGUMENT" ? undefined : () => void start()}
        />
      )}
      {said === "" ? null : (
        <p role="status" className={styles["said"]}>
          {said}
        </p>
      )}
      {report === null ? null : <Report report={report} before={running || error !== null || said !== ""} />}
    </>
  );
}

function AlreadyThere({ error }: { readonly error: WireError }): ReactNode {
  const setOverwrite = useExport((s) => s.setOverwrite);
  const start = useExport((s) => s.startExport);
  return (
    <ErrorNote
      title="The package was not written"
      error={{ ...error, hint: `Choose another name, or tick “${REPLACE}”.` }}
    >
      <Button
        small
        onClick={() => {
          setOverwrite(true);
          void start();
        }}
      >
        Replace it
      </Button>
    </ErrorNote>
  );
}

function Running(): ReactNode {
  const progress = useExport((s) => s.exportProgress);
  const since = useExport((s) => s.exportSince);
  const stop = useExport((s) => s.stopExport);
  const sentence =
    progress === null ? "Starting" : progress.kind === "phase" ? progress.sentence : `Writing ${progress.tensor}`;
  const fraction =
    progress === null
      ? null
      : progress.kind === "phase"
        ? progress.fraction
        : progress.totalBytes === 0
          ? null
          : progress.doneBytes / progress.totalBytes;
  return (
    <Card
      title="Writing"
      aside={
        progress?.kind === "progress" ? `${bytes(progress.doneBytes)} of ${bytes(progress.totalBytes)}` : undefined
      }
    >
      <Progress sentence={sentence} fraction={fraction} since={since} />
      <div className={styles["below"]}>
        <Button small onClick={stop}>
          Cancel
        </Button>
        <span>Written under another name until it is complete.</span>
      </div>
    </Card>
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
    <section className={styles["report"]} aria-label="Report">
      <div className={styles["reportHead"]}>
        <div>
          <h2>
            {before ? "Previous export, written" : "Written"} in {figureText(report.seconds)}
          </h2>
          <p className={styles["path"]}>{report.path}</p>
          <p>
            {bytes(report.bytes)}, {significant(report.ratioToSource)} × the file. {report.sentence}
          </p>
        </div>
        <Show path={report.path} />
      </div>
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
    </section>
  );
}

function Show({ path }: { readonly path: string }): ReactNode {
  const show = useExport((s) => s.showInFolder);
  return show === null ? null : (
    <Button small onClick={() => show(path)}>
      Show in folder
    </Button>
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
