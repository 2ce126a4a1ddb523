/** A benchmark while it goes on: what it waits for, how long it will take, each test as it comes; and one that was stopped. */
import type { ReactNode } from "react";
import { testName } from "../../../main/contract/benchText.ts";
import { rowNameOf } from "./compare.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { duration, plural, significant } from "../../ui/format.ts";
import { MeasureAnyway } from "../../ui/MeasureAnyway.tsx";
import { median } from "../../ui/median.ts";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { Dots } from "./Dots.tsx";
import type { BenchPlan, BenchSample, PartialBench } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function Running(): ReactNode {
  const running = useBench((s) => s.benchRunning);
  const plan = useBench((s) => s.benchPlan);
  const samples = useBench((s) => s.benchSamples);
  const start = useBench((s) => s.startBench);
  const last = samples.at(-1);
  const waits = running?.waiting === true;
  return (
    <Card
      title={waits ? "Waiting" : "Measuring"}
      aside={
        last === undefined
          ? ""
          : `${last.done} of ${last.total}, about ${duration(Math.max(1, Math.ceil(last.secondsLeft)))} left`
      }
    >
      <Progress
        sentence={running?.sentence ?? ""}
        fraction={last === undefined || waits ? null : last.done / last.total}
        {...(running === null ? {} : { since: running.since })}
      />
      {waits ? <MeasureAnyway onMeasure={() => void start("warn")} /> : null}
      {plan === null ? null : <Samples plan={plan} samples={samples} />}
    </Card>
  );
}

/** What a benchmark had measured when it was stopped: shown, but no result. */
export function Stopped({ partial }: { readonly partial: PartialBench }): ReactNode {
  const { plan, samples } = partial;
  const counted = samples.filter(({ warmup }) => !warmup);
  const last = samples.at(-1);
  return (
    <Card title="Stopped: incomplete" aside={last === undefined ? "" : `${last.done} of ${plural(last.total, "run")}`}>
      <Samples plan={plan} samples={samples} />
      <Note>
        {counted.length === 0
          ? "It was stopped before its first repeat was done: there is no result."
          : "It is no result of this session; what was measured stays in the history below."}
      </Note>
    </Card>
  );
}

function Samples({ plan, samples }: { readonly plan: BenchPlan; readonly samples: readonly BenchSample[] }): ReactNode {
  /** The same work has one scale, so that rows can be compared by eye. */
  const scaleOf = (of: BenchPlan["cells"][number]): readonly number[] =>
    samples.filter(({ cell }) => isSameWork(plan.cells[cell], of)).map(({ rate }) => rate);
  return (
    <table className={cx(table["table"], styles["samples"])}>
      <thead>
        <tr>
          <th className={cx(table["left"], styles["wide"])}>test</th>
          <th className={styles["narrow"]}>median, t/s</th>
          <th className={table["left"]}>each repeat</th>
          <th className={styles["narrow"]}>repeats</th>
        </tr>
      </thead>
      <tbody>
        {plan.cells.map((cell, at) => {
          const own = samples.filter((sample) => sample.cell === at);
          const rates = own.filter(({ warmup }) => !warmup).map(({ rate }) => rate);
          const warmups = own.filter(({ warmup }) => warmup).map(({ rate }) => rate);
          return (
            <tr key={at}>
              <td className={table["left"]}>{rowNameOf(plan.subjects, cell)}</td>
              <td>{rates.length === 0 ? "–" : significant(median(rates) ?? 0)}</td>
              <td className={styles["dots"]}>
                <Dots rates={rates} warmups={warmups} interval={null} row={{ among: scaleOf(cell) }} />
              </td>
              <td>{rates.length === 0 ? (warmups.length === 0 ? "waiting" : "warm-up") : rates.length}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const isSameWork = (a: BenchPlan["cells"][number] | undefined, b: BenchPlan["cells"][number]): boolean =>
  a !== undefined && testName(a) === testName(b);
