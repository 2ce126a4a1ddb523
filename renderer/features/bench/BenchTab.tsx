/** Benchmarks of prefill and decode: what to measure, how far it is, the result, and those before it. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { MeasureAnyway } from "../../ui/MeasureAnyway.tsx";
import { Empty } from "../../ui/states.tsx";
import { BenchHistory } from "./BenchHistory.tsx";
import { ChoiceCard } from "./ChoiceCard.tsx";
import { MatrixEditor } from "./MatrixEditor.tsx";
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
  const setTab = useBench((s) => s.setTab);
  const loadHistory = useBench((s) => s.loadBenchHistory);
  const model = overview?.model;
  useEffect(() => void loadHistory(), [loadHistory, model]);
  if (overview === null) return null;
  if (!overview.canMeasure.ok)
    return (
      <CannotHere title="This cannot be measured here" why={overview.canMeasure} onLocate={() => setTab("overview")} />
    );
  const latest = results.find(({ model }) => model === modelName(overview));
  return (
    <div className={styles["tab"]}>
      <MatrixEditor />
      {error === null ? null : <Failed error={error} />}
      {running === null && partial !== null ? <Stopped partial={partial} /> : null}
      {running !== null ? (
        <Running />
      ) : latest !== undefined ? (
        <Result entry={latest} />
      ) : partial === null ? (
        <Nothing />
      ) : null}
      <ChoiceCard />
      <BenchHistory
        withSession={results.length > 1 || (results.length === 1 && (running !== null || latest === undefined))}
      />
    </div>
  );
}

function Failed({ error }: { readonly error: WireError }): ReactNode {
  const start = useBench((s) => s.startBench);
  const isNotQuiet = error.code === "ENV_NOT_QUIET";
  return (
    <>
      <ErrorNote
        title={isNotQuiet ? "This machine is not quiet" : "The benchmark failed"}
        error={error}
        onRetry={() => void start()}
      />
      {isNotQuiet ? <MeasureAnyway onMeasure={() => void start("warn")} /> : null}
    </>
  );
}

function Nothing(): ReactNode {
  return (
    <div className={styles["nothing"]}>
      <Empty title="Nothing measured yet">
        Every round takes one sample of each test; the first rounds warm the machine up and are not counted. A
        measurement waits for a quiet machine.
      </Empty>
    </div>
  );
}
