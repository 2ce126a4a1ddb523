/** Beside a benchmark: how the last result stands to the one before, how it was measured, and on what. */
import type { ReactNode } from "react";
import { Fragment, useMemo } from "react";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, intervalText, plural, significant } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { benchDifferences, compareBench, rowNameOf } from "./compare.ts";
import type { BenchEntry } from "./slice.ts";
import { benchName, modelName } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function BenchInspector(): ReactNode {
  const name = useBench((s) => {
    const overview = current(s.model);
    return overview === null ? null : modelName(overview);
  });
  const results = useBench((s) => s.benchResults);
  const info = useBench((s) => current(s.info));
  const earlier = useBench((s) => s.benchEarlier);
  const [last, ...others] = results.filter(({ model }) => model === name);
  // The last time that the same was measured, in this session or before it.
  const before = [...others, ...earlier].find((entry) => last !== undefined && compareBench(entry, last).length > 0);
  return (
    <>
      {last === undefined || before === undefined ? null : <Against last={last} before={before} />}
      <Card title="How it is measured" level={2}>
        <p>
          Prefill reads random tokens, decode generates them one by one. Everything is measured in turn, round by round,
          so that heat and other programs hit all alike. The warm-up is not counted. The number is the median of the
          repeats; of six or more, the interval holds it in at least 95 of 100 cases. While the machine is hot, on
          battery or busy, no result is called faster.
        </p>
      </Card>
      {info === null ? null : (
        <Card title="This machine" level={2}>
          <Facts
            rows={[
              ["chip", info.chip],
              ["system", info.osTitle],
              ["cores", String(info.cpu.cores)],
              ["kernels", info.cpu.kernels],
              ["memory", bytes(info.memory.totalBytes)],
            ]}
          />
        </Card>
      )}
    </>
  );
}

function Against({ last, before }: { readonly last: BenchEntry; readonly before: BenchEntry }): ReactNode {
  const tests = useMemo(() => compareBench(before, last), [before, last]);
  const differences = benchDifferences(before, last);
  const repeats = Math.min(
    ...[before, last].flatMap(({ result }) => result.tests.map(({ samples }) => samples.length)),
  );
  return (
    <Card
      title={`Against the last time, ${benchName(before)}`}
      aside={<TruthMark truth={last.result.truth} />}
      level={2}
    >
      <Facts
        rows={tests.map(({ left, ratio }) => [
          rowNameOf(before.result.subjects, left),
          ratio === null ? (
            "not comparable"
          ) : (
            <Fragment key={rowNameOf(before.result.subjects, left)}>
              {significant(ratio.value)} ×{" "}
              <span className={styles["interval"]}>({intervalText(ratio.low, ratio.high)})</span>
            </Fragment>
          ),
        ])}
      />
      <Note>
        {differences.length === 0
          ? `The same settings, ${plural(repeats, "repeat")} each. ${[...new Set(tests.map(({ sentence }) => sentence))].join(" ")}`
          : `Not the same: ${differences.join(", ")}.`}
      </Note>
    </Card>
  );
}
