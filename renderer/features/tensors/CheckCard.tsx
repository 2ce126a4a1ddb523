/** The check of the whole file: how far it is, what it has found, and the verdict with what to do. */
import type { ReactNode } from "react";
import type { FindingView } from "../../../main/contract/views/tensors.ts";
import { sliceHook } from "../../session/context.tsx";
import { Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes, count, errorShare, figureText, plural, significant } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import type { CheckReport, TensorsSlice } from "./slice.ts";
import { FileResult, FileWork } from "./FileWork.tsx";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice>();

export function CheckCard(): ReactNode {
  const running = useTensors((s) => s.checkRunning);
  const report = useTensors((s) => s.checkReport);
  const error = useTensors((s) => s.checkError);
  const said = useTensors((s) => s.checkSaid);
  const findings = useTensors((s) => s.checkFindings);
  const close = useTensors((s) => s.closeCheck);
  if (error !== null) return <ErrorNote title="The file was not checked" error={error} />;
  if (running) return <Running />;
  if (report === null && said === "") return null;
  return (
    <FileResult
      title={report === null ? "Cancelled" : VERDICTS[report.verdict]}
      took={report === null ? null : `${bytes(report.bytes)} in ${figureText(report.seconds)}`}
      closeLabel="Close the result of the check"
      onClose={close}
      sentence={report === null ? said : report.sentence}
    >
      {report === null || report.advice === null ? null : <Note>{report.advice}</Note>}
      <Findings findings={findings} more={report?.moreFindings ?? 0} />
      {report === null ? null : <Compared report={report} />}
    </FileResult>
  );
}

const VERDICTS = { sound: "The file is sound", odd: "The file may be odd", broken: "The file is broken" } as const;

function Running(): ReactNode {
  const progress = useTensors((s) => s.checkProgress);
  const since = useTensors((s) => s.checkSince);
  const stop = useTensors((s) => s.stopCheck);
  const findings = useTensors((s) => s.checkFindings);
  return (
    <FileWork title="Checking" progress={progress} since={since} onStop={stop}>
      <Findings findings={findings} more={0} />
    </FileWork>
  );
}

function Findings({ findings, more }: { readonly findings: readonly FindingView[]; readonly more: number }): ReactNode {
  const show = useTensors((s) => s.showFinding);
  if (findings.length === 0) return null;
  return (
    <ul className={styles["findings"]} aria-label="Findings">
      {findings.map((finding, i) => (
        <li key={i}>
          <b>{finding.kind}</b>
          <button
            type="button"
            className={styles["link"]}
            title="Show the values there"
            onClick={() => void show(finding)}
          >
            {finding.tensor}
          </button>
          <span>{finding.sentence}</span>
        </li>
      ))}
      {more > 0 ? <li>and {count(more)} more</li> : null}
    </ul>
  );
}

/** Differences that are listed. */
const WORST = 20;

function Compared({ report }: { readonly report: CheckReport }): ReactNode {
  const apart = report.compared.filter(({ relative }) => relative !== 0).slice(0, WORST);
  if (report.compared.length === 0) return null;
  if (apart.length === 0)
    return <Note>No difference in {plural(report.compared.length, "tensor")}, where both files have numbers.</Note>;
  return (
    <table className={cx(table["table"], styles["compared"])} aria-label="Largest differences">
      <thead>
        <tr>
          <th>largest differences</th>
          <th>type</th>
          <th>other</th>
          <th>error</th>
          <th>cosine</th>
        </tr>
      </thead>
      <tbody>
        {apart.map((row) => (
          <tr key={row.tensor}>
            <td>{row.tensor}</td>
            <td>{row.type}</td>
            <td>{row.theirs}</td>
            <td>{row.relative === null ? "∞" : errorShare(row.relative)}</td>
            <td>{row.cosine === null ? "–" : significant(row.cosine, 4)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
