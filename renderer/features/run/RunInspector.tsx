/**
 * Beside a run: its live speed, the chosen or last token with its alternatives, the context, the
 * template.
 */
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import type { RunStats } from "../../../main/contract/views/run.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { approximate, bytes, count, figureText, isApproximate, rate, share, significant } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import { median } from "../../ui/median.ts";
import { Sparkline } from "../../ui/Sparkline.tsx";
import { columnTitles } from "./ColumnsView.tsx";
import type { Answer } from "./request.ts";
import type { RunSlice } from "./slice.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

/** `children`: cards of another feature, below the speed. */
export function RunInspector({ children }: { readonly children?: ReactNode }): ReactNode {
  const inColumns = useRun((s) => s.beside.length > 0);
  const isGraph = useRun((s) => isGraphAlone(current(s.model)?.kind ?? "model"));
  if (isGraph) return <p className={styles["heading"]}>One run through the segments, compared with the reference.</p>;
  return (
    <>
      <h2 className={styles["heading"]}>Live</h2>
      {inColumns ? <ColumnSpeeds /> : <LastSpeed />}
      {children}
      <TokenCard />
      <Contexts />
      <TemplateCard />
    </>
  );
}

function LastSpeed(): ReactNode {
  const rates = useRun((s) => s.rates);
  const last = useRun((s) => s.turns.at(-1)?.answer ?? null);
  return <SpeedCard title="Tokens per second" rates={rates} last={last} />;
}

/** Every column of the last question. */
function ColumnSpeeds(): ReactNode {
  const columns = useRun((s) => s.columnTurns.at(-1)?.columns ?? null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  if (columns === null) return <SpeedCard title="Tokens per second" rates={[]} last={null} />;
  const titles = columnTitles(devices, columns);
  return columns.map((column, i) => (
    <SpeedCard
      key={column.id}
      title={`${titles[i] ?? ""}, t/s`}
      rates={column.rates}
      last={column.answer.device === null ? null : column.answer}
    />
  ));
}

interface SpeedCardProps {
  readonly title: string;
  readonly rates: readonly number[];
  readonly last: Answer | null;
}

function SpeedCard({ title, rates, last }: SpeedCardProps): ReactNode {
  const middle = median(rates);
  const stats = last?.stats ?? null;
  const speed = (value: number | undefined): string =>
    value === undefined ? "–" : last !== null && isApproximate(last.truth) ? approximate(rate(value)) : rate(value);
  return (
    <Card title={title} aside={last === null ? undefined : <TruthMark truth={last.truth} />}>
      {rates.length < 2 ? (
        <p className={styles["noCurve"]}>
          {last === null || last.end === null || stats === null
            ? "The speed of an answer is drawn here while it comes."
            : "The answer was too short for a curve."}
        </p>
      ) : (
        <Sparkline values={rates} label={`Tokens per second, median ${significant(middle ?? 0)}`} />
      )}
      <Facts
        rows={[
          ["now", speed(rates.at(-1))],
          ["median", speed(middle)],
          ["whole answer", stats === null || stats.rate === null ? "–" : <FigureText key="rate" figure={stats.rate} />],
          ["prefill", stats === null || stats.promptRate === null ? "–" : figureText(stats.promptRate)],
        ]}
      />
    </Card>
  );
}

/** The answer with that number, or the last one: of a conversation, or of the columns. */
function lookedAt(
  { beside, turns, columnTurns }: Pick<RunSlice, "beside" | "turns" | "columnTurns">,
  id: number | null,
): Answer | undefined {
  const all = beside.length === 0 ? turns : columnTurns.flatMap(({ columns }) => columns);
  return (id === null ? all.at(-1) : all.find((each) => each.id === id))?.answer;
}

function TokenCard(): ReactNode {
  const chosen = useRun((s) => s.chosenToken);
  const answer = useRun((s) => lookedAt(s, chosen?.turn ?? null));
  const certainty = useRun((s) => s.certainty);
  const setCertainty = useRun((s) => s.setCertainty);
  const token = chosen === null ? answer?.tokens.at(-1) : answer?.tokens[chosen.token];
  const visible = (text: string): string => (text === "" ? "·" : text.replaceAll("\n", "⏎"));
  return (
    <Card
      title={chosen === null ? "The last token" : "The chosen token"}
      aside={token === undefined ? undefined : share(Math.exp(token.logprob))}
    >
      {token === undefined ? (
        <p className={styles["heading"]}>Click a token of an answer to see its alternatives.</p>
      ) : null}
      {token?.top.map((entry) => (
        <div key={entry.id} className={styles["alternative"]}>
          <span title={`token ${entry.id}`}>{visible(entry.text)}</span>
          <Meter value={Math.exp(entry.logprob)} label={visible(entry.text)} />
          <span>{share(Math.exp(entry.logprob))}</span>
        </div>
      ))}
      <label className={styles["check"]}>
        <input type="checkbox" checked={certainty} onChange={(event) => setCertainty(event.target.checked)} /> shade
        tokens by uncertainty
      </label>
    </Card>
  );
}

/** Devices have caches of their own, and the simulator a smaller one: columns have one each. */
function Contexts(): ReactNode {
  const columns = useRun((s) => (s.beside.length === 0 ? null : (s.columnTurns.at(-1)?.columns ?? null)));
  const stats = useRun((s) => lookedAt(s, null)?.stats ?? null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  if (columns === null) return <ContextCard title="Context" stats={stats} asked={null} />;
  const titles = columnTitles(devices, columns);
  return columns.map((column, i) => (
    <ContextCard
      key={column.id}
      title={`Context, ${titles[i] ?? ""}`}
      stats={column.answer.stats}
      asked={column.parameters.context}
    />
  ));
}

interface ContextCardProps {
  readonly title: string;
  readonly stats: RunStats | null;
  readonly asked: number | null;
}

function ContextCard({ title, stats, asked }: ContextCardProps): ReactNode {
  return (
    <Card title={title}>
      <Meter value={stats === null ? 0 : stats.contextUsed / Math.max(1, stats.contextSize)} label="Context in use" />
      <Note>
        {stats === null
          ? "Nothing is in the cache yet."
          : [
              `${count(stats.contextUsed)} of ${count(stats.contextSize)} tokens.`,
              stats.cacheBytes === 0 ? "" : ` ${bytes(stats.cacheBytes)} of cache.`,
              asked !== null && stats.contextSize < asked
                ? ` This device holds no more: ${count(asked)} were asked for.`
                : "",
            ].join("")}
      </Note>
    </Card>
  );
}

function TemplateCard(): ReactNode {
  const template = useRun((s) => current(s.template));
  if (template === null) return null;
  return (
    <Card title="Chat template">
      <p>{template.sentence}</p>
    </Card>
  );
}
