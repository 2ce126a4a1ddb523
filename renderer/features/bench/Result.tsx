/** The last result: medians with their intervals, every repeat, and what makes it hard to compare. */
import type { ReactNode } from "react";
import { intervalName } from "../../../main/contract/views/run.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { intervalText, isApproximate, plural, significant } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { resultMarkdown } from "./benchText.ts";
import { Dots } from "./Dots.tsx";
import { conditionRows } from "./conditions.ts";
import type { BenchEntry, BenchResult } from "./slice.ts";
import { benchName } from "./slice.ts";
import { TEST_NAMES, useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function Result({ entry }: { readonly entry: BenchEntry }): ReactNode {
  const { result, at } = entry;
  const devices = useBench((s) => current(s.info)?.devices ?? null);
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
      <div className={styles["pair"]}>
        {result.tests.map((test) => (
          <div key={test.test} className={styles["test"]}>
            <span>
              {TEST_NAMES[test.test]}, {plural(test.tokens, "token")}
            </span>
            <strong>
              {isApproximate(test.rate.truth) ? "~" : ""}
              {significant(test.rate.value)} <small>t/s</small>
            </strong>
            <Dots
              rates={test.samples}
              warmups={[]}
              interval={test.rate.low === null || test.rate.high === null ? null : [test.rate.low, test.rate.high]}
            />
            <em>
              median of {test.samples.length}
              {test.rate.low === null || test.rate.high === null ? null : (
                <>
                  ,{" "}
                  <span className={styles["interval"]}>
                    {intervalName(test.samples.length)} {intervalText(test.rate.low, test.rate.high, 4)}
                  </span>
                </>
              )}
            </em>
          </div>
        ))}
      </div>
      <Note>
        {result.machine}, on {deviceTitle(devices, result.device)}, {plural(result.threads, "thread")}, {result.kernels}
        .
      </Note>
      <Conditions result={result} />
      {result.notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      <div className={styles["actions"]}>
        <CopyButton label="Copy as llama-bench JSON" text={() => result.json} />
        <CopyButton label="Copy as Markdown" text={() => resultMarkdown(entry)} />
      </div>
    </Card>
  );
}

/** Heat, power and memory before and after: the conditions of the numbers. */
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
