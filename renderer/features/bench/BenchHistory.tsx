/** Every result of this session, of all models, and those of the open model before it; two that are ticked are compared. */
import type { ReactNode } from "react";
import { testName } from "../../../main/contract/benchText.ts";
import { intervalName } from "../../../main/contract/views/bench.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { figureText, intervalText, plural, significant, spreadText } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { comparisonJson, comparisonMarkdown } from "./benchText.ts";
import { benchDifferences, compareBench, notComparable, rowNameOf } from "./compare.ts";
import { HistoryChart } from "./HistoryChart.tsx";
import { seriesOf } from "./history.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

const clock = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

/** `withSession`: a single result that stands above is not repeated in a list. */
export function BenchHistory({ withSession }: { readonly withSession: boolean }): ReactNode {
  const results = useBench((s) => s.benchResults);
  const earlier = useBench((s) => s.benchEarlier);
  const compared = useBench((s) => s.comparedBench);
  // The older one is the first, whichever was ticked first.
  const ticked = [...results, ...earlier].filter(({ id }) => compared.includes(id));
  const [left, right] = ticked.sort((a, b) => a.at - b.at || a.id - b.id);
  const series = seriesOf([...results.filter(({ model }) => earlier[0]?.model === model), ...earlier]);
  return (
    <>
      {left === undefined || right === undefined ? null : <Compared left={left} right={right} />}
      {withSession ? (
        <Card title="This session" aside={plural(results.length, "result")}>
          <Entries entries={results} compared={compared} />
          {results.length > 1 && right === undefined ? <Note>Tick two results to compare them.</Note> : null}
        </Card>
      ) : null}
      {earlier.length === 0 ? null : (
        <Card title="History" aside={`${plural(earlier.length, "measurement")} of this model before`}>
          <HistoryChart series={series} />
          <details className={styles["earlier"]}>
            <summary>All of them</summary>
            <Entries entries={earlier} compared={compared} />
          </details>
        </Card>
      )}
    </>
  );
}

function Entries({
  entries,
  compared,
}: {
  readonly entries: readonly BenchEntry[];
  readonly compared: readonly number[];
}): ReactNode {
  const models = new Set(entries.map(({ model }) => model)).size;
  return (
    <div className={styles["scroll"]}>
      <table className={table["table"]}>
        <thead>
          <tr>
            <th>
              <span className="visually-hidden">compare</span>
            </th>
            <th className={table["left"]}>result</th>
            {models > 1 ? <th className={table["left"]}>model</th> : null}
            <th className={table["left"]}>test</th>
            <th>prefill</th>
            <th>decode</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} ticked={compared.includes(entry.id)} withModel={models > 1} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** "pp 512 · tg 128"; of a matrix, how many. */
function testsText({ tests, subjects }: BenchEntry["result"]): string {
  const names = [...new Set(tests.map(testName))];
  const shown = names.length > 2 ? plural(names.length, "test") : names.join(" · ");
  return subjects.length > 1 ? `${shown} · ${plural(subjects.length, "subject")}` : shown;
}

/** When it was; of the history, whose name says that, by which version. And what sets it apart. */
function remarkOf({ id, at, result }: BenchEntry): string {
  const remarks = [
    ...(result.stopped === null ? [] : ["stopped"]),
    ...(result.red.length === 0 ? [] : ["bad conditions"]),
  ];
  return [id > 0 ? clock(at) : `rlx ${result.version}`, ...remarks].join(", ");
}

function Row({
  entry,
  ticked,
  withModel,
}: {
  readonly entry: BenchEntry;
  readonly ticked: boolean;
  readonly withModel: boolean;
}): ReactNode {
  const toggle = useBench((s) => s.toggleComparedBench);
  const { id, at, model, result } = entry;
  const repeats = Math.min(...result.tests.map(({ samples }) => samples.length));
  /** Of several, the highest. */
  const of = (name: "pp" | "tg"): ReactNode => {
    const tests = result.tests.filter(({ test, samples }) => test === name && samples.length > 0);
    const best = [...tests].sort((a, b) => b.rate.value - a.rate.value)[0];
    if (best === undefined) return "–";
    return (
      <>
        {tests.length > 1 ? "to " : ""}
        {figureText(best.rate)}
        <span className={styles["says"]}>{spreadText(best.rate)}</span>
      </>
    );
  };
  return (
    <tr data-ticked={ticked} className={styles["row"]}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${benchName(entry)}${id > 0 ? `, ${clock(at)}` : ""}`}
          checked={ticked}
          onChange={() => toggle(id)}
        />
      </td>
      <td className={cx(table["left"], styles["wraps"])}>
        {benchName(entry)}
        <span className={styles["says"]}>{remarkOf(entry)}</span>
      </td>
      {withModel ? <td className={table["left"]}>{model}</td> : null}
      <td className={cx(table["left"], styles["wraps"])}>
        {testsText(result)}
        <span className={styles["says"]}>
          {[...new Set(result.subjects.map(({ device }) => device))].join(", ")} · {plural(repeats, "repeat")}
        </span>
      </td>
      <td>{of("pp")}</td>
      <td>{of("tg")}</td>
    </tr>
  );
}

function Compared({ left, right }: { readonly left: BenchEntry; readonly right: BenchEntry }): ReactNode {
  const tests = compareBench(left, right);
  const differences = benchDifferences(left, right);
  const why = notComparable(left, right);
  return (
    <Card
      title={`${benchName(left)} against ${benchName(right)}`}
      aside={
        <>
          <TruthMark truth={left.result.truth} />
          {differences.length === 0 ? "the same model and settings" : differences.join(", ")}
        </>
      }
    >
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>test</th>
            <th>{benchName(left)}</th>
            <th>{benchName(right)}</th>
            <th>second to first</th>
            <th>interval</th>
          </tr>
        </thead>
        <tbody>
          {tests.map(({ left: a, right: b, ratio, sentence }) => (
            <tr key={rowNameOf(left.result.subjects, a)}>
              <td className={table["text"]}>
                {rowNameOf(left.result.subjects, a)}
                {why === null ? <span className={styles["says"]}>{sentence}</span> : null}
              </td>
              <td>{figureText(a.rate)}</td>
              <td>{figureText(b.rate)}</td>
              <td>{ratio === null ? "–" : `${significant(ratio.value)} ×`}</td>
              <td>
                {ratio === null ? (
                  "–"
                ) : (
                  <>
                    {intervalText(ratio.low, ratio.high)}
                    <span className={styles["says"]}>{intervalName(Math.min(a.samples.length, b.samples.length))}</span>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {why === null ? null : <Note>{why}</Note>}
      {tests.length === 0 ? <Note>They have no test in common.</Note> : null}
      <div className={styles["actions"]}>
        <CopyButton label="Copy as Markdown" text={() => comparisonMarkdown(left, right)} />
        <CopyButton label="Copy as JSON" text={() => comparisonJson(left, right)} />
      </div>
    </Card>
  );
}
