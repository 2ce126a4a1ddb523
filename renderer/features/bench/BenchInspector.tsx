/** Beside a benchmark: how the last result stands to the one before, how it was measured, and on what. */
import type { ReactNode } from "react";
import { Fragment, useMemo } from "react";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, intervalText, plural, significant } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { benchDifferences, compareBench } from "./compare.ts";
import type { BenchEntry } from "./slice.ts";
import { modelName } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function BenchInspector(): ReactNode {
  const name = useBench((s) => {
    const overview = current(s.model);
    return overview === null ? null : modelName(overview);
  });
  const results = useBench((s) => s.benchResults);
  const info = useBench((s) => current(s.info));
  const [last, before] = results.filter(({ model }) => model === name);
  return (
    <>
      {last === undefined || before === undefined ? null : <Against last={last} before={before} />}
      <Card title="How it is measured" level={2}>
        <p>
          Random tokens are read, then tokens are written one by one. The warm-up is not counted. The number is the
          median of the repeats; of six or more, the interval holds it in at least 95 of 100 cases.
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

const SHORT_NAMES = { pp: "prefill", tg: "decode" } as const;

function Against({ last, before }: { readonly last: BenchEntry; readonly before: BenchEntry }): ReactNode {
  const tests = useMemo(() => compareBench(before, last), [before, last]);
  const differences = benchDifferences(before, last);
  const repeats = Math.min(before.settings.repeats, last.settings.repeats);
  return (
    <Card title="Against the result before" aside={<TruthMark truth={last.result.truth} />} level={2}>
      <Facts
        rows={tests.map(({ test, ratio }) => [
          SHORT_NAMES[test],
          ratio === null ? (
            "not comparable"
          ) : (
            <Fragment key={test}>
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
