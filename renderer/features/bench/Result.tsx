/** The last result: medians with their intervals, every repeat, and what makes it hard to compare. */
import type { ReactNode } from "react";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { plural, significant } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { resultMarkdown } from "./benchText.ts";
import { Dots } from "./Dots.tsx";
import type { BenchEntry } from "./slice.ts";
import { TEST_NAMES } from "./useBench.ts";
import styles from "./Bench.module.css";

export function Result({ entry }: { readonly entry: BenchEntry }): ReactNode {
  const { result, at } = entry;
  return (
    <Card
      title="Result"
      aside={
        <>
          <TruthMark truth={result.truth} /> {new Date(at).toLocaleTimeString([], { hour12: false })}
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
              {significant(test.rate.value)} <small>t/s</small>
            </strong>
            <Dots
              rates={test.samples}
              warmups={[]}
              interval={test.rate.low === null || test.rate.high === null ? null : [test.rate.low, test.rate.high]}
            />
            <em>
              median of {plural(test.samples.length, "repeat")}
              {test.rate.low === null || test.rate.high === null
                ? ""
                : `, 95 % interval ${significant(test.rate.low, 4)} – ${significant(test.rate.high, 4)}`}
            </em>
          </div>
        ))}
      </div>
      <Note>
        {result.machine}, {plural(result.threads, "thread")}, {result.kernels}.
      </Note>
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
