/** The tests of a matrix as rows; two that are ticked are compared by one ratio. They were measured in turn. */
import type { ReactNode } from "react";
import { testName } from "../../../main/contract/benchText.ts";
import { intervalName } from "../../../main/contract/views/bench.ts";
import type { BenchTest } from "../../../main/contract/views/bench.ts";
import { Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { figureText, intervalText, significant } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import { compareInTurn, rowNameOf } from "./compare.ts";
import { Dots } from "./Dots.tsx";
import type { BenchResult } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function ResultTable({ result }: { readonly result: BenchResult }): ReactNode {
  const compared = useBench((s) => s.comparedTests);
  const { tests } = result;
  const hasEnergy = tests.some(({ joulesPerToken }) => joulesPerToken !== null);
  const hasRatio = result.subjects.length > 1;
  const repeats = Math.min(...tests.map(({ samples }) => samples.length));
  const [first, second] = [...compared].sort((a, b) => a - b).map((place) => tests[place]);
  return (
    <>
      <div className={styles["scroll"]}>
        <table className={cx(table["table"], styles["samples"], styles["result"])}>
          <thead>
            <tr>
              <th className={styles["tick"]}>
                <span className="visually-hidden">compare</span>
              </th>
              <th className={cx(table["left"], styles["wide"])}>test</th>
              <th className={styles["narrow"]}>t/s, first token</th>
              <th className={styles["middle"]}>{intervalName(repeats)}</th>
              <th className={cx(table["left"], styles["dots"])}>each repeat</th>
              {hasEnergy ? <th className={styles["narrow"]}>energy a token</th> : null}
              {hasRatio ? <th className={styles["narrow"]}>to the first</th> : null}
            </tr>
          </thead>
          <tbody>
            {tests.map((test, place) => (
              <Row key={place} {...{ result, test, place, hasEnergy, hasRatio }} />
            ))}
          </tbody>
        </table>
      </div>
      {first === undefined || second === undefined ? (
        <Note>Tick two rows to compare them.</Note>
      ) : (
        <Pair result={result} first={first} second={second} />
      )}
    </>
  );
}

interface RowProps {
  readonly result: BenchResult;
  readonly test: BenchTest;
  readonly place: number;
  readonly hasEnergy: boolean;
  readonly hasRatio: boolean;
}

/** The same test of the first subject is what others are compared with, without being asked. */
function toFirst(result: BenchResult, test: BenchTest): string {
  const first = result.tests.find((each) => each.subject === 0 && testName(each) === testName(test));
  if (first === undefined || first === test) return "";
  const { kind, ratio } = compareInTurn(result, first, test);
  if (ratio === null || kind === "too few") return "–";
  return kind === "even" ? "no difference" : `${significant(ratio.value)} ×`;
}

function Row({ result, test, place, hasEnergy, hasRatio }: RowProps): ReactNode {
  const ticked = useBench((s) => s.comparedTests.includes(place));
  const toggle = useBench((s) => s.toggleComparedTest);
  const { low, high } = test.rate;
  const name = rowNameOf(result.subjects, test);
  // The same work has one scale, so that rows can be compared by eye.
  const among = result.tests.filter((each) => testName(each) === testName(test)).flatMap(({ samples }) => samples);
  return (
    <tr data-ticked={ticked} className={styles["row"]}>
      <td>
        <input type="checkbox" aria-label={`Compare ${name}`} checked={ticked} onChange={() => toggle(place)} />
      </td>
      <td className={table["left"]}>{name}</td>
      <td>
        {significant(test.rate.value)}
        {test.firstToken === null ? null : (
          <span className={styles["says"]} title="until the first token">
            {figureText(test.firstToken)}
          </span>
        )}
      </td>
      <td>{low === null || high === null ? "–" : intervalText(low, high)}</td>
      <td className={styles["dots"]}>
        <Dots
          rates={test.samples}
          warmups={[]}
          interval={low === null || high === null ? null : [low, high]}
          row={{ among }}
        />
      </td>
      {hasEnergy ? <td>{test.joulesPerToken === null ? "" : figureText(test.joulesPerToken)}</td> : null}
      {hasRatio ? <td className={styles["wraps"]}>{toFirst(result, test)}</td> : null}
    </tr>
  );
}

function Pair({
  result,
  first,
  second,
}: {
  readonly result: BenchResult;
  readonly first: BenchTest;
  readonly second: BenchTest;
}): ReactNode {
  const { ratio, sentence } = compareInTurn(result, first, second);
  const [a, b] = [first, second].map((test) => rowNameOf(result.subjects, test));
  return (
    <p role="status">
      <b>{b}</b> to <b>{a}</b>:{" "}
      {ratio === null ? null : (
        <>
          {significant(ratio.value)} ×{" "}
          <span className={styles["interval"]}>
            ({intervalName(first.samples.length)} {intervalText(ratio.low, ratio.high)})
          </span>
          .{" "}
        </>
      )}
      {sentence}
    </p>
  );
}
