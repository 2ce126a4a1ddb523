/** The last result: medians with their intervals, every repeat, what it is compared with, and what makes that hard. */
import type { ReactNode } from "react";
import { benchCsv, benchJson } from "../../../main/contract/benchText.ts";
import { intervalName } from "../../../main/contract/views/bench.ts";
import type { BenchTest } from "../../../main/contract/views/bench.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { figureText, intervalText, isApproximate, plural, significant } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { resultMarkdown } from "./benchText.ts";
import { Dots } from "./Dots.tsx";
import { conditionRows } from "./conditions.ts";
import { ResultTable } from "./ResultTable.tsx";
import type { BenchEntry, BenchResult } from "./slice.ts";
import { benchName } from "./slice.ts";
import { Sweeps } from "./Sweep.tsx";
import { TEST_NAMES, useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

/** Of few tests each stands large; more are a table. */
const LARGE = 2;

export function Result({ entry }: { readonly entry: BenchEntry }): ReactNode {
  const { result, at } = entry;
  return (
    <Card
      title="Result"
      aside={
        <>
          <TruthMark truth={result.truth} /> {benchName(entry)},{" "}
          {new Date(at).toLocaleTimeString([], { hour12: false })}
        </>
      }
    >
      {result.red.length === 0 ? null : (
        <p className={styles["marked"]}>Not comparable because of the conditions: {result.red.join("; ")}.</p>
      )}
      {result.stopped === null ? null : <p className={styles["marked"]}>{result.stopped}</p>}
      {result.tests.length > LARGE ? (
        <>
          <Sweeps result={result} />
          <ResultTable result={result} />
        </>
      ) : (
        <div className={styles["pair"]}>
          {result.tests.map((test) => (
            <Large key={`${test.test} ${test.tokens} ${test.depth} ${test.subject}`} test={test} />
          ))}
        </div>
      )}
      <Where result={result} />
      <Energy result={result} />
      <Conditions result={result} />
      {result.notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      <div className={styles["actions"]}>
        <CopyButton label="Copy as Markdown" text={() => resultMarkdown(entry)} />
        <CopyButton label="CSV" text={() => benchCsv(result)} />
        <CopyButton label="JSON" text={() => benchJson(result)} />
        <CopyButton label="llama-bench JSON" text={() => result.json} />
      </div>
    </Card>
  );
}

function Large({ test }: { readonly test: BenchTest }): ReactNode {
  const { low, high } = test.rate;
  return (
    <div className={styles["test"]}>
      <span>
        {TEST_NAMES[test.test]}, {plural(test.tokens, "token")}
        {test.depth === 0 ? "" : `, after ${plural(test.depth, "token")}`}
      </span>
      <strong>
        {isApproximate(test.rate.truth) ? "~" : ""}
        {significant(test.rate.value)} <small>t/s</small>
      </strong>
      <Dots rates={test.samples} warmups={[]} interval={low === null || high === null ? null : [low, high]} />
      <em>
        median of {test.samples.length}
        {low === null || high === null ? null : (
          <>
            ,{" "}
            <span className={styles["interval"]}>
              {intervalName(test.samples.length)} {intervalText(low, high, 4)}
            </span>
          </>
        )}
      </em>
      {test.firstToken === null ? null : <em>first token after {figureText(test.firstToken)}</em>}
      {test.joulesPerToken === null ? null : <em>{figureText(test.joulesPerToken)} a token, above idle</em>}
    </div>
  );
}

function Where({ result }: { readonly result: BenchResult }): ReactNode {
  const devices = useBench((s) => current(s.info)?.devices ?? null);
  const { machine, device, threads, kernels, subjects, version } = result;
  if (subjects.length > 1)
    return (
      <Note>
        {machine}, rlx {version}; {plural(subjects.length, "subject")} in turn.
      </Note>
    );
  return (
    <Note>
      {machine}, on {deviceTitle(devices, device)}, {plural(threads, "thread")}, {kernels}.
    </Note>
  );
}

function Energy({ result: { energy } }: { readonly result: BenchResult }): ReactNode {
  const { idle, load, prefill, decode, sentence } = energy;
  if (idle === null) return <Note>{sentence}</Note>;
  const rows = [
    ["Load", load],
    ["Prefill", prefill],
    ["Decode", decode],
    ["Idle", idle],
  ] as const;
  return (
    <>
      <Facts rows={rows.flatMap(([name, figure]) => (figure === null ? [] : [[name, figureText(figure)] as const]))} />
      <Note>{sentence}</Note>
    </>
  );
}

/** Heat, power, memory and other programs before and after: the conditions of the numbers. */
function Conditions({ result }: { readonly result: BenchResult }): ReactNode {
  const rows = conditionRows(result);
  if (rows.length === 0) return null;
  return (
    <details className={styles["conditions"]} open={rows.some(({ flagged }) => flagged)}>
      <summary>Conditions{rows.some(({ flagged }) => flagged) ? " need attention" : ""}</summary>
      <Facts
        rows={rows.map(({ title, text, source, flagged }) => [
          title,
          <span key={title} title={source} data-flagged={flagged}>
            {text}
          </span>,
        ])}
      />
    </details>
  );
}
