/** Whether the model fits and how fast it runs, both with their arithmetic. */
import type { ReactNode } from "react";
import type { Forecast, SpeedView } from "../../../main/contract/views/model.ts";
import type { Figure, SumRow, Truth } from "../../../main/contract/views/common.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { useDevices } from "../../devices/useDevices.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { count, rangeText, seconds, THIN } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import { cx } from "../../ui/cx.ts";
import styles from "./Overview.module.css";

/** "2 B" stays on one line. */
const unbroken = (text: string): string => text.replaceAll(/(\d) (?=[A-Z]+\b)/g, `$1${THIN}`);

function SumRows({ rows, total }: { readonly rows: readonly SumRow[]; readonly total?: SumRow["value"] }): ReactNode {
  return (
    <table className={cx(table["table"], table["bleed"])}>
      <tbody>
        {rows.map(({ label, arithmetic, value }) => (
          <tr key={label}>
            <td className={table["text"]}>
              {label}
              {arithmetic === null ? null : <span className={styles["arithmetic"]}>, {unbroken(arithmetic)}</span>}
            </td>
            <td>
              <FigureText figure={value} />
            </td>
          </tr>
        ))}
        {total === undefined ? null : (
          <tr>
            <td className={cx(table["text"], table["total"])}>Together</td>
            <td className={table["total"]}>
              <FigureText figure={total} />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

export interface ForecastsProps {
  /** The target's first, then the other engines. */
  readonly forecasts: readonly Forecast[];
  readonly measured: MeasuredSpeed | null;
  /** Whether there is anything to measure: a header cannot run. */
  readonly runs: boolean;
}

export function Forecasts({ forecasts, measured, runs }: ForecastsProps): ReactNode {
  const [target, ...others] = forecasts;
  if (target === undefined) return null;
  return (
    <>
      <FitCard title={target.title} fit={target.fit} />
      {target.speed === null ? null : (
        <SpeedCard title={target.title} speed={target.speed} others={others} measured={measured} runs={runs} />
      )}
    </>
  );
}

function FitCard({ title, fit }: Pick<Forecast, "title" | "fit">): ReactNode {
  return (
    <Card title="Will it fit?" aside={`${title}, ${fit.machine}`}>
      <SumRows rows={fit.rows} total={fit.total} />
      <div style={{ marginTop: 8 }}>
        <Meter value={fit.total.value / Math.max(1, fit.available.value)} label="Share of the free memory" />
      </div>
      <Note>{fit.sentence}</Note>
    </Card>
  );
}

/** Tokens per second of the open model on this machine. */
export interface MeasuredSpeed {
  /** "Bench 2", "Chat 1". */
  readonly source: string;
  readonly device: string;
  readonly truth: Truth;
  readonly generate: Figure | null;
  readonly prompt: Figure | null;
}

interface SpeedCardProps extends Pick<ForecastsProps, "measured" | "runs"> {
  readonly title: string;
  readonly speed: SpeedView;
  readonly others: readonly Forecast[];
}

const withoutUnit = (text: string): string => text.replace(/\u202ft\/s$/, "");

function SpeedCard({ title, speed, others, measured, runs }: SpeedCardProps): ReactNode {
  return (
    <Card
      title="How fast?"
      aside={
        <>
          <TruthMark truth={speed.prompt.truth} /> {title}, {speed.machine}
        </>
      }
    >
      <div className={styles["big"]}>
        {speed.generate === null ? null : (
          <div>
            <strong>{withoutUnit(rangeText(speed.generate))}</strong>
            <span>tokens per second, decode</span>
          </div>
        )}
        <div>
          <strong>{rangeText(speed.prompt)}</strong>
          <span>prefill of {count(speed.promptTokens)} tokens</span>
        </div>
      </div>
      {measured === null ? null : <Measured measured={measured} promptTokens={speed.promptTokens} />}
      <SumRows rows={speed.rows} />
      <Note>
        {speed.sentence}
        {runs && measured === null ? " Run it once, and the measured speed appears here." : ""}
      </Note>
      {others.map(({ title: other, speed: own }) =>
        own === null ? null : (
          <Note key={other}>
            {other}: {own.generate === null ? "no rate for decode" : `${rangeText(own.generate)} in decode`}, prefill in{" "}
            {rangeText(own.prompt)}.
          </Note>
        ),
      )}
    </Card>
  );
}

/** In the units of the forecast above it. The machines may be two: the forecast's is named in the card's head. */
function Measured({
  measured: { source, device, truth, generate, prompt },
  promptTokens,
}: {
  readonly measured: MeasuredSpeed;
  readonly promptTokens: number;
}): ReactNode {
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const rate = (figure: Figure): ReactNode => <FigureText figure={figure} />;
  return (
    <div className={styles["measured"]}>
      <p>
        <TruthMark truth={truth} /> on {deviceTitle(devices, device)} of this machine, {source}
      </p>
      <dl>
        <div>
          <dt>decode</dt>
          <dd>{generate === null ? "–" : rate(generate)}</dd>
        </div>
        <div>
          <dt>prefill</dt>
          <dd>
            {prompt === null ? (
              "–"
            ) : (
              <>
                {rate(prompt)}, {seconds(promptTokens / prompt.value)} for {count(promptTokens)} tokens
              </>
            )}
          </dd>
        </div>
      </dl>
    </div>
  );
}
