/** The verdict under the title: one line, and the table of all targets. A row that is chosen becomes the window's subject. */
import type { ReactNode } from "react";
import type { Figure } from "../../../main/contract/views/common.ts";
import type { SpeedView, Subject, Verdict, VerdictRow } from "../../../main/contract/views/cost.ts";
import { ROUTED } from "../../../main/contract/views/graph.ts";
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { walkButtons } from "../../ui/arrowFocus.ts";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { approximate, count, rangeText, seconds, share } from "../../ui/format.ts";
import { FigureText } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import type { MeasuredSpeed } from "./forecastCards.tsx";
import type { Verdicts } from "./useVerdict.ts";
import styles from "./Verdict.module.css";

const FITS = { fits: "yes", tight: "just", "too-big": "no" } as const;

export function VerdictCard({
  verdicts,
  subject,
  measured,
}: {
  readonly verdicts: Verdicts;
  /** Of this machine: it stands in the row of what ran. */
  readonly measured: MeasuredSpeed | null;
  readonly subject: Subject | null;
}): ReactNode {
  const { own, all, chunk, retry } = verdicts;
  const verdict = current(own);
  if (own.kind === "failed" && verdict === null)
    return <ErrorNote title="No verdict could be worked out" error={own.error} onRetry={retry} />;
  return (
    <section className={styles["verdict"]} aria-label="Verdict" aria-busy={own.kind === "loading"}>
      <p className={cx(styles["line"], own.kind === "loading" && styles["waiting"])}>
        {verdict === null ? "Working out how fast it is here …" : verdict.sentence}
      </p>
      <Targets verdict={current(all)} busy={all.kind !== "ready"} own={verdict} subject={subject} measured={measured} />
      {chunk === null ? null : (
        <p className={styles["of"]}>
          ANE, GPU and hops are of a chunk of {count(chunk.tokens)} tokens, prefill; speed is of decode.
        </p>
      )}
    </section>
  );
}

interface TargetsProps {
  readonly verdict: Verdict | null;
  readonly busy: boolean;
  readonly own: Verdict | null;
  readonly subject: Subject | null;
  readonly measured: MeasuredSpeed | null;
}

function Targets({ verdict, busy, own, subject, measured }: TargetsProps): ReactNode {
  // Before the others are there, the own row keeps the table's place.
  const rows = verdict?.rows ?? (own === null ? [] : [own.own]);
  const tokens = rows.find((row) => row.ok)?.speed.promptTokens ?? 1000;
  const alone = useIsGraphAlone();
  return (
    <table className={cx(table["table"], styles["table"])} aria-label="How fast on each target" aria-busy={busy}>
      <thead>
        <tr>
          <th>runs on</th>
          {alone ? (
            <th title="Time of one run of the graph">a run</th>
          ) : (
            <>
              <th title="Tokens per second; where no rate is given, the time of a token">speed</th>
              <th title={`Time to the first token of a prompt of ${count(tokens)} tokens`}>first token</th>
            </>
          )}
          {alone ? null : <th>memory</th>}
          <th>ANE</th>
          <th>GPU</th>
          <th>hops</th>
          {alone ? null : <th>fits</th>}
        </tr>
      </thead>
      <tbody onKeyDown={walkButtons}>
        {rows.map((row) => (
          <Target
            key={row.title}
            row={row}
            chosen={isChosen(row, subject)}
            measured={measured !== null && runsOn(row, measured, subject) ? measured.generate : null}
          />
        ))}
        {verdict === null ? (
          <tr>
            <td className={styles["more"]} colSpan={alone ? 5 : 8}>
              Working out the other targets …
            </td>
          </tr>
        ) : null}
      </tbody>
    </table>
  );
}

const isChosen = ({ subject: { backend, target } }: VerdictRow, subject: Subject | null): boolean =>
  subject !== null &&
  backend === subject.backend &&
  (backend !== ROUTED.backend || target.units === subject.target.units);

/** Whether what was measured ran on this row's runtime; Core ML's runs are those of the window's target. */
const runsOn = (row: VerdictRow, { device }: MeasuredSpeed, subject: Subject | null): boolean =>
  row.subject.backend === device && (device !== ROUTED.backend || isChosen(row, subject));

/** "Core ML, CPU + ANE" */
const shortTitle = (title: string): string => title.replace(" and ", " + ").replace("Neural Engine", "ANE");

/** "~20–36 t/s": a trailing zero would say that more is known. */
const rangeCell = (figure: Figure): string => approximate(rangeText(rounded(figure)).replaceAll(/\.0+(?!\d)/g, ""));

/** Two significant digits: more is not known. */
const rounded = (figure: Figure): Figure => {
  const two = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(2)));
  return { ...figure, value: Number(figure.value.toPrecision(2)), low: two(figure.low), high: two(figure.high) };
};

interface TargetProps {
  readonly row: VerdictRow;
  readonly chosen: boolean;
  /** Tokens per second. */
  readonly measured: Figure | null;
}

function Target({ row, chosen, measured }: TargetProps): ReactNode {
  const choose = useChoose();
  const alone = useIsGraphAlone();
  const name = (
    <button
      type="button"
      className={styles["choose"]}
      aria-pressed={chosen}
      title={chosen ? "Everything here speaks of it." : "Make this what the whole window speaks of."}
      onClick={() => choose(row.subject)}
    >
      {shortTitle(row.title)}
    </button>
  );
  if (!row.ok)
    return (
      <tr data-chosen={chosen}>
        <td>{name}</td>
        <td className={styles["more"]} colSpan={alone ? 4 : 7}>
          {row.sentence}
        </td>
      </tr>
    );
  const { speed, fit } = row;
  return (
    <tr data-chosen={chosen}>
      <td>{name}</td>
      <td>{alone ? <RunTime speed={speed} /> : <SpeedCell speed={speed} measured={measured} />}</td>
      {alone ? null : (
        <td>{speed.prompt === null ? "–" : <span title={speed.prompt.basis}>{rangeCell(speed.prompt)}</span>}</td>
      )}
      {alone ? null : <td>{fit === null ? "–" : <FigureText figure={fit.total} />}</td>}
      <td>{row.aneShare === null ? "–" : approximate(share(row.aneShare))}</td>
      <td>{row.gpuShare === null ? "–" : approximate(share(row.gpuShare))}</td>
      <td>{row.hops}</td>
      {alone ? null : <td title={fit?.sentence}>{fit === null ? "–" : FITS[fit.verdict]}</td>}
    </tr>
  );
}

/** Of a graph without tokens. */
const RunTime = ({ speed }: { readonly speed: SpeedView }): ReactNode => (
  <span title={`Predicted. ${speed.sentence}`}>{approximate(seconds(speed.token.value))}</span>
);

/** The rate, or the time of a token where a rate would promise too much; with what was measured here. */
function SpeedCell({ speed, measured }: { readonly speed: SpeedView; readonly measured: Figure | null }): ReactNode {
  const predicted =
    speed.generate === null ? (
      <span title={`Predicted. ${speed.sentence}`}>{approximate(seconds(speed.token.value))} a token</span>
    ) : (
      <span title={`Predicted: ${speed.generate.basis}.`}>{rangeCell(speed.generate)}</span>
    );
  if (measured === null) return predicted;
  return (
    <>
      {predicted}
      <div className={styles["measured"]}>
        measured <FigureText figure={measured} />
      </div>
    </>
  );
}

/** A graph and no model: one run, no tokens. */
const useIsGraphAlone = (): boolean => useSession((state) => isGraphAlone(current(state.model)?.kind ?? "model"));

/** Makes a row the subject of the window. */
function useChoose(): (subject: Subject) => void {
  const setTarget = useSession((state) => state.setTarget);
  const setBackend = useSession((state) => state.setBackend);
  return ({ backend, target }) => {
    // The machine and the context stay as they are: only Core ML's rows have units of their own.
    if (backend === "coreml") setTarget(target);
    setBackend(backend);
  };
}
