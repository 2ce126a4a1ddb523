/** Benchmarks: reading a prompt and writing tokens, with warm-up and repeats; the median and where it lies in 95 of 100 cases. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { ChoiceField, NumberField } from "../../ui/fields.tsx";
import { count, plural, rate, seconds, significant, spreadText } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import { Empty, Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { dotPositions } from "./dots.ts";
import type { BenchResult, BenchSample, BenchSlice } from "./slice.ts";
import styles from "./Bench.module.css";

const useBench = sliceHook<BenchSlice>();
const NAMES = { pp: "Reading the prompt", tg: "Writing tokens" } as const;

export function BenchTab(): ReactNode {
  const overview = useBench((s) => current(s.model));
  const results = useBench((s) => s.benchResults);
  const running = useBench((s) => s.benchRunning);
  const error = useBench((s) => s.benchError);
  const start = useBench((s) => s.startBench);
  if (overview === null) return null;
  if (!overview.canRun.ok)
    return (
      <Empty title="This cannot be measured here">
        {overview.canRun.sentence} {overview.canRun.hint ?? ""}
      </Empty>
    );
  const [latest, ...older] = results;
  return (
    <div className={styles["tab"]}>
      <Settings />
      {error === null ? null : <ErrorNote title="The benchmark failed" error={error} onRetry={() => void start()} />}
      {running !== null ? (
        <Running />
      ) : latest === undefined ? (
        <Nothing />
      ) : (
        <Result result={latest.result} at={latest.at} />
      )}
      {older.length === 0 && !(running !== null && latest !== undefined) ? null : <History />}
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

function Settings(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const set = useBench((s) => s.setBench);
  const running = useBench((s) => s.benchRunning !== null);
  const start = useBench((s) => s.startBench);
  const stop = useBench((s) => s.stopBench);
  const devices = useBench((s) => current(s.info)?.devices ?? null);
  const runnable = (devices ?? []).filter(({ available }) => available);
  const whole = (value: number, take: (n: number) => void): void => {
    if (Number.isInteger(value)) take(value);
  };
  return (
    <div className={styles["settings"]}>
      <NumberField
        label="Prompt tokens"
        value={settings.promptTokens}
        min={0}
        max={65_536}
        onChange={(v) => whole(v, (promptTokens) => set({ promptTokens }))}
      />
      <NumberField
        label="Tokens to write"
        value={settings.generateTokens}
        min={0}
        max={65_536}
        onChange={(v) => whole(v, (generateTokens) => set({ generateTokens }))}
      />
      <NumberField
        label="Repeats"
        value={settings.repeats}
        min={1}
        max={100}
        digits={3}
        onChange={(v) => whole(v, (repeats) => set({ repeats }))}
      />
      <NumberField
        label="Warm-up"
        value={settings.warmup}
        min={0}
        max={20}
        digits={2}
        onChange={(v) => whole(v, (warmup) => set({ warmup }))}
      />
      {runnable.length > 1 ? (
        <ChoiceField
          label="On"
          value={settings.device}
          options={runnable.map(({ id, title }) => ({ id, title }))}
          onChange={(id) => {
            const device = runnable.find((each) => each.id === id)?.id;
            if (device !== undefined) set({ device });
          }}
        />
      ) : null}
      <span className={styles["space"]} />
      {running ? (
        <Button look="primary" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button look="primary" onClick={() => void start()}>
          Measure
        </Button>
      )}
    </div>
  );
}

function Running(): ReactNode {
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
        elapsedSeconds={null}
      />
      <div className={styles["pair"]}>
        <Live test="pp" samples={samples} />
        <Live test="tg" samples={samples} />
      </div>
    </Card>
  );
}

function Live({ test, samples }: { readonly test: "pp" | "tg"; readonly samples: readonly BenchSample[] }): ReactNode {
  const own = samples.filter((sample) => sample.test === test);
  const last = own.at(-1);
  return (
    <div className={styles["test"]}>
      <span>{NAMES[test]}</span>
      <strong>{last === undefined ? "–" : significant(last.rate)}</strong>
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

function Result({ result, at }: { readonly result: BenchResult; readonly at: number }): ReactNode {
  const json = result.json;
  return (
    <Card
      title="Result"
      aside={
        <>
          <TruthMark truth={result.truth} />{" "}
          {new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}
        </>
      }
    >
      <div className={styles["pair"]}>
        {result.tests.map((test) => (
          <div key={test.test} className={styles["test"]}>
            <span>
              {NAMES[test.test]}, {plural(test.tokens, "token")}
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
        <CopyButton label="Copy as llama-bench JSON" text={() => json} />
      </div>
    </Card>
  );
}

/** Each repeat as a dot, so that an outlier is seen and not averaged away; the interval as a band. */
function Dots({
  rates,
  warmups,
  interval,
}: {
  readonly rates: readonly number[];
  readonly warmups: readonly number[];
  readonly interval: readonly [number, number] | null;
}): ReactNode {
  const { at, band } = dotPositions([...rates, ...warmups], interval, 260);
  return (
    <svg
      width="100%"
      height="26"
      viewBox="0 0 260 26"
      preserveAspectRatio="xMinYMid meet"
      role="img"
      aria-label={
        rates.length === 0
          ? "No repeats yet"
          : `Repeats: ${rates.map((value) => significant(value)).join(", ")} tokens per second`
      }
    >
      <path d="M0 13h260" stroke="var(--line)" />
      {band === null ? null : (
        <rect
          x={band[0]}
          y="6"
          width={Math.max(1, band[1] - band[0])}
          height="14"
          rx="3"
          fill="var(--line-strong)"
          opacity=".5"
        />
      )}
      {at.map((x, i) => (
        <circle
          key={i}
          cx={x}
          cy="13"
          r="3.5"
          {...(i < rates.length ? { fill: "var(--ink)" } : { fill: "none", stroke: "var(--ink-2)" })}
        />
      ))}
    </svg>
  );
}

function History(): ReactNode {
  const results = useBench((s) => s.benchResults);
  if (results.length === 0) return null;
  return (
    <Card title="This session" aside={plural(results.length, "run")}>
      <table className={cx(table["table"], table["bleed"])}>
        <thead>
          <tr>
            <th>when</th>
            <th className={table["left"]}>test</th>
            <th>repeats</th>
            <th>reading</th>
            <th>writing</th>
          </tr>
        </thead>
        <tbody>
          {results.map(({ id, at, settings, result }) => {
            const of = (name: "pp" | "tg"): string => {
              const test = result.tests.find((each) => each.test === name);
              return test === undefined ? "–" : `${rate(test.rate.value)} ${spreadText(test.rate)}`;
            };
            return (
              <tr key={id}>
                <td>
                  {new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" })}
                </td>
                <td className={table["left"]}>
                  pp {count(settings.promptTokens)} · tg {count(settings.generateTokens)} · {result.device}
                </td>
                <td>{settings.repeats}</td>
                <td>{of("pp")}</td>
                <td>{of("tg")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Card>
  );
}
