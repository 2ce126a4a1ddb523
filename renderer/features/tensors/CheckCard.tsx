/** The check of the whole file: how far it is, what it has found, and the verdict with what to do. */
import type { ReactNode } from "react";
import type { FindingView } from "../../../main/contract/views/tensors.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes, count, errorShare, figureText, plural, significant } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import type { CheckReport, TensorsSlice } from "./slice.ts";
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
    <Card
      title={report === null ? "Cancelled" : VERDICTS[report.verdict]}
      aside={
        <>
          {report === null ? null : `${bytes(report.bytes)} in ${figureText(report.seconds)}`}
          <IconButton label="Close the result of the check" onClick={close}>
            ×
          </IconButton>
        </>
      }
      className={styles["check"]}
    >
      <p role="status">{report === null ? said : report.sentence}</p>
      {report === null || report.advice === null ? null : <Note>{report.advice}</Note>}
      <Findings findings={findings} more={report?.moreFindings ?? 0} />
      {report === null ? null : <Compared report={report} />}
    </Card>
  );
}

const VERDICTS = { sound: "The file is sound", odd: "The file may be odd", broken: "The file is broken" } as const;

function Running(): ReactNode {
  const progress = useTensors((s) => s.checkProgress);
  const since = useTensors((s) => s.checkSince);
  const stop = useTensors((s) => s.stopCheck);
  const findings = useTensors((s) => s.checkFindings);
  return (
    <Card
      title="Checking"
      aside={
        <>
          {progress === null ? null : `${bytes(progress.doneBytes)} of ${bytes(progress.totalBytes)}`}
          <Button small onClick={stop}>
            Cancel
          </Button>
        </>
      }
      className={styles["check"]}
    >
      <Progress
        sentence={
          progress === null
            ? "Starting"
            : `${progress.tensor}, ${count(progress.done)} of ${plural(progress.of, "tensor")}`
        }
        fraction={progress === null ? null : progress.doneBytes / Math.max(1, progress.totalBytes)}
        since={since}
      />
      <Findings findings={findings} more={0} />
    </Card>
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
