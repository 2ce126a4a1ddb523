/** Every result of this window, of all models; two that are ticked are compared. */
import type { ReactNode } from "react";
import { intervalName } from "../../../main/contract/views/run.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { count, figureText, intervalText, plural, significant, spreadText } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { comparisonJson, comparisonMarkdown } from "./benchText.ts";
import { benchDifferences, compareBench, notComparable } from "./compare.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName } from "./slice.ts";
import { TEST_NAMES, useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

const clock = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

export function BenchHistory(): ReactNode {
  const results = useBench((s) => s.benchResults);
  const compared = useBench((s) => s.comparedBench);
  // The older one is the first, whichever was ticked first.
  const [left, right] = results.filter(({ id }) => compared.includes(id)).sort((a, b) => a.id - b.id);
  const models = new Set(results.map(({ model }) => model)).size;
  return (
    <>
      {left === undefined || right === undefined ? null : <Compared left={left} right={right} />}
      <Card title="This session" aside={plural(results.length, "result")}>
        <table className={cx(table["table"], table["bleed"])}>
          <thead>
            <tr>
              <th>
                <span className="visually-hidden">compare</span>
              </th>
              <th className={table["left"]}>result</th>
              {models > 1 ? <th className={table["left"]}>model</th> : null}
              <th className={table["left"]}>test</th>
              <th>repeats</th>
              <th>prefill</th>
              <th>decode</th>
            </tr>
          </thead>
          <tbody>
            {results.map((entry) => (
              <Row key={entry.id} entry={entry} ticked={compared.includes(entry.id)} withModel={models > 1} />
            ))}
          </tbody>
        </table>
        {results.length > 1 && right === undefined ? <Note>Tick two results to compare them.</Note> : null}
      </Card>
    </>
  );
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
  const { id, at, model, settings, result } = entry;
  const of = (name: "pp" | "tg"): ReactNode => {
    const test = result.tests.find((each) => each.test === name);
    if (test === undefined) return "–";
    return (
      <>
        {figureText(test.rate)}
        <span className={styles["says"]}>{spreadText(test.rate)}</span>
      </>
    );
  };
  return (
    <tr data-ticked={ticked} className={styles["row"]}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${benchName(entry)}, ${clock(at)}`}
          checked={ticked}
          onChange={() => toggle(id)}
        />
      </td>
      <td className={table["left"]}>
        {benchName(entry)}
        <span className={styles["says"]}>{clock(at)}</span>
      </td>
      {withModel ? <td className={table["left"]}>{model}</td> : null}
      <td className={table["left"]}>
        pp {count(settings.promptTokens)} · tg {count(settings.generateTokens)} · {result.device}
      </td>
      <td>{settings.repeats}</td>
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
          {tests.map(({ test, left: a, right: b, ratio, sentence }) => (
            <tr key={test}>
              <td className={table["text"]}>
                {TEST_NAMES[test]}
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
