/** Benchmarks: reading a prompt and writing tokens, with warm-up and repeats; the median and where it lies in 95 of 100 cases. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Empty } from "../../ui/states.tsx";
import { BenchHistory } from "./BenchHistory.tsx";
import { BenchSettingsRow } from "./BenchSettings.tsx";
import { Result } from "./Result.tsx";
import { Running, Stopped } from "./Running.tsx";
import { modelName } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function BenchTab(): ReactNode {
  const overview = useBench((s) => current(s.model));
  const results = useBench((s) => s.benchResults);
  const running = useBench((s) => s.benchRunning);
  const partial = useBench((s) => s.benchPartial);
  const error = useBench((s) => s.benchError);
  const start = useBench((s) => s.startBench);
  const setTab = useBench((s) => s.setTab);
  if (overview === null) return null;
  if (!overview.canMeasure.ok)
    return (
      <CannotHere title="This cannot be measured here" why={overview.canMeasure} onLocate={() => setTab("overview")} />
    );
  const latest = results.find(({ model }) => model === modelName(overview));
  return (
    <div className={styles["tab"]}>
      <BenchSettingsRow />
      {error === null ? null : <ErrorNote title="The benchmark failed" error={error} onRetry={() => void start()} />}
      {running === null && partial !== null ? <Stopped partial={partial} /> : null}
      {running !== null ? (
        <Running />
      ) : latest !== undefined ? (
        <Result entry={latest} />
      ) : partial === null ? (
        <Nothing />
      ) : null}
      {results.length > 1 || (results.length === 1 && (running !== null || latest === undefined)) ? (
        <BenchHistory />
      ) : null}
    </div>
  );
}

function Nothing(): ReactNode {
  return (
    <div className={styles["nothing"]}>
      <Empty title="Nothing measured yet">
        Each repeat runs the same work again; the first ones warm the machine up and are not counted. Close what else is
        running for quiet numbers.
      </Empty>
    </div>
  );
}
