/**
 * Beside a run: its live speed, the chosen or last token with its alternatives, the context, the
 * template.
 */
import type { ReactNode } from "react";
import type { RunStats } from "../../../main/contract/views/run.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { approximate, bytes, count, figureText, isApproximate, rate, share, significant } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import { median } from "../../ui/median.ts";
import { Sparkline } from "../../ui/Sparkline.tsx";
import type { Answer } from "./request.ts";
import type { RunSlice } from "./slice.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

/** `children`: cards of another feature, below the speed. */
export function RunInspector({ children }: { readonly children?: ReactNode }): ReactNode {
  const paired = useRun((s) => s.beside !== null);
  const isGraph = useRun((s) => current(s.model)?.kind === "demo-graph");
  if (isGraph) return <p className={styles["heading"]}>One run through the segments, compared with the reference.</p>;
  return (
    <>
      <h2 className={styles["heading"]}>Live</h2>
      {paired ? <PairSpeeds /> : <LastSpeed />}
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

/** Both sides of the last question. */
function PairSpeeds(): ReactNode {
  const sides = useRun((s) => s.pairTurns.at(-1)?.sides ?? null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  if (sides === null) return <SpeedCard title="Tokens per second" rates={[]} last={null} />;
  return sides.map(({ id, parameters, rates, answer }) => (
    <SpeedCard
      key={id}
      title={`${deviceTitle(devices, parameters.device)}, t/s`}
      rates={rates}
      last={answer.device === null ? null : answer}
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

/** The answer with that number, or the last one: of a conversation, or of the two that stand side by side. */
function lookedAt(
  { beside, turns, pairTurns }: Pick<RunSlice, "beside" | "turns" | "pairTurns">,
  id: number | null,
): Answer | undefined {
  const all = beside === null ? turns : pairTurns.flatMap(({ sides }) => sides);
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

/** Devices have caches of their own, and the simulator a smaller one: side by side there are two. */
function Contexts(): ReactNode {
  const sides = useRun((s) => (s.beside === null ? null : (s.pairTurns.at(-1)?.sides ?? null)));
  const stats = useRun((s) => lookedAt(s, null)?.stats ?? null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  if (sides === null) return <ContextCard title="Context" stats={stats} asked={null} />;
  return sides.map(({ id, parameters, answer }) => (
    <ContextCard
      key={id}
      title={`Context, ${deviceTitle(devices, parameters.device)}`}
      stats={answer.stats}
      asked={parameters.context}
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
