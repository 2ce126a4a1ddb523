/** The comparison with another file: how far it is, what it says of all tensors, and what cannot be compared. */
import type { ReactNode } from "react";
import { sliceHook } from "../../session/context.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, figureText, plural } from "../../ui/format.ts";
import type { CompareReport, AgainstSlice } from "./againstSlice.ts";
import { FileResult, FileWork } from "./FileWork.tsx";
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
    <FileResult
      title={report === null ? "Comparison" : `Against ${report.file}`}
      took={report === null ? null : figureText(report.seconds)}
      closeLabel="Forget the comparison"
      onClose={close}
      sentence={report === null ? said : report.sentence}
    >
      {report === null ? null : <NotCompared report={report} />}
    </FileResult>
  );
}

function Running(): ReactNode {
  const progress = useCompare((s) => s.againstProgress);
  const since = useCompare((s) => s.againstSince);
  const stop = useCompare((s) => s.stopAgainst);
  return <FileWork title="Comparing" progress={progress} since={since} onStop={stop} />;
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
