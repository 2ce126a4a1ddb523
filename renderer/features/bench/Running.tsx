/** A benchmark while it goes on: each repeat as it comes. */
import type { ReactNode } from "react";
import { Card, Note } from "../../ui/Card.tsx";
import { plural, seconds, significant } from "../../ui/format.ts";
import { median } from "../../ui/median.ts";
import { Progress } from "../../ui/states.tsx";
import { Dots } from "./Dots.tsx";
import type { BenchSample, PartialBench } from "./slice.ts";
import { TEST_NAMES, useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function Running(): ReactNode {
  const running = useBench((s) => s.benchRunning);
  const samples = useBench((s) => s.benchSamples);
  const settings = useBench((s) => s.benchSettings);
  const tests = (settings.promptTokens > 0 ? 1 : 0) + (settings.generateTokens > 0 ? 1 : 0);
  const total = tests * (settings.repeats + settings.warmup);
  return (
    <Card title="Measuring" aside={`${samples.length} of ${total}`}>
      <Progress
        sentence={running?.sentence ?? ""}
        fraction={total === 0 ? null : samples.length / total}
        {...(running === null ? {} : { since: running.since })}
      />
      <div className={styles["pair"]}>
        <Live test="pp" samples={samples} />
        <Live test="tg" samples={samples} />
      </div>
    </Card>
  );
}

/** What a benchmark had measured when it was stopped: shown, but no result. */
export function Stopped({ partial }: { readonly partial: PartialBench }): ReactNode {
  const { samples, settings } = partial;
  const counted = samples.filter(({ warmup }) => !warmup);
  const tests = (["pp", "tg"] as const).filter((test) => counted.some((sample) => sample.test === test));
  return (
    <Card title="Stopped: incomplete" aside="no result">
      <div className={styles["pair"]}>
        {tests.map((test) => {
          const rates = counted.filter((sample) => sample.test === test).map((sample) => sample.rate);
          return (
            <div key={test} className={styles["test"]}>
              <span>{TEST_NAMES[test]}</span>
              <strong>
                {significant(median(rates) ?? 0)} <small>t/s</small>
              </strong>
              <Dots rates={rates} warmups={[]} interval={null} />
              <em>
                median of {rates.length} of {plural(settings.repeats, "repeat")}
              </em>
            </div>
          );
        })}
      </div>
      <Note>
        {tests.length === 0 ? "It was stopped before its first repeat was done. " : ""}It is not among the results, and
        is gone when the next one begins.
      </Note>
    </Card>
  );
}

function Live({ test, samples }: { readonly test: "pp" | "tg"; readonly samples: readonly BenchSample[] }): ReactNode {
  const own = samples.filter((sample) => sample.test === test);
  const last = own.at(-1);
  return (
    <div className={styles["test"]}>
      <span>{TEST_NAMES[test]}</span>
      <strong>
        {last === undefined ? "–" : significant(last.rate)} <small>t/s</small>
      </strong>
      <Dots
        rates={own.filter(({ warmup }) => !warmup).map((sample) => sample.rate)}
        warmups={own.filter(({ warmup }) => warmup).map((sample) => sample.rate)}
        interval={null}
      />
      <em>
        {last === undefined
          ? "waiting"
          : last.warmup
            ? "warming up, not counted"
            : `repeat took ${seconds(last.seconds)}`}
      </em>
    </div>
  );
}
