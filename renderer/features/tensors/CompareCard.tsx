/** The comparison with another file: how far it is, what it says of all tensors, and what cannot be compared. */
import type { ReactNode } from "react";
import { sliceHook } from "../../session/context.tsx";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes, count, figureText, plural } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import type { CompareReport, AgainstSlice } from "./againstSlice.ts";
import styles from "./Tensors.module.css";

const useCompare = sliceHook<AgainstSlice>();

export function CompareCard(): ReactNode {
  const running = useCompare((s) => s.againstRunning);
  const report = useCompare((s) => s.against?.report ?? null);
  const error = useCompare((s) => s.againstError);
  const said = useCompare((s) => s.againstSaid);
  const close = useCompare((s) => s.closeAgainst);
  if (error !== null) return <ErrorNote title="The files were not compared" error={error} />;
  if (running) return <Running />;
  if (report === null && said === "") return null;
  return (
    <Card
      title={report === null ? "Comparison" : `Against ${report.file}`}
      aside={
        <>
          {report === null ? null : figureText(report.seconds)}
          <IconButton label="Forget the comparison" onClick={close}>
            ×
          </IconButton>
        </>
      }
      className={styles["check"]}
    >
      <p role="status">{report === null ? said : report.sentence}</p>
      {report === null ? null : <NotCompared report={report} />}
    </Card>
  );
}

function Running(): ReactNode {
  const progress = useCompare((s) => s.againstProgress);
  const since = useCompare((s) => s.againstSince);
  const stop = useCompare((s) => s.stopAgainst);
  return (
    <Card
      title="Comparing"
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
    </Card>
  );
}

/** Names that are listed of each kind. */
const LISTED = 50;

function NotCompared({
  report: { left, moreLeft, onlyThere, moreOnlyThere, moreRows },
}: {
  readonly report: CompareReport;
}): ReactNode {
  const more = (listed: number, all: number): ReactNode =>
    all > listed ? <li>and {count(all - listed)} more</li> : null;
  if (left.length + onlyThere.length + moreRows === 0) return null;
  return (
    <details>
      <summary>What has no error of its own</summary>
      <ul className={styles["findings"]}>
        {left.slice(0, LISTED).map(({ tensor, why }) => (
          <li key={tensor}>
            <code>{tensor}</code>
            <span>{why}</span>
          </li>
        ))}
        {more(LISTED, left.length + moreLeft)}
        {onlyThere.slice(0, LISTED).map((tensor) => (
          <li key={tensor}>
            <code>{tensor}</code>
            <span>only in the other file</span>
          </li>
        ))}
        {more(LISTED, onlyThere.length + moreOnlyThere)}
        {moreRows > 0 ? <li>{plural(moreRows, "tensor")} behind the first are in the sum alone</li> : null}
      </ul>
    </details>
  );
}
