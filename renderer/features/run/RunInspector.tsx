/** Beside a run: its speed while it goes on, the chosen or last token with its alternatives, the context, the template. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, count, figureText, share, significant } from "../../ui/format.ts";
import { FigureText, Meter, TruthMark } from "../../ui/marks.tsx";
import { Sparkline } from "../../ui/Sparkline.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

/** `children`: what stands below the speed, from another feature. */
export function RunInspector({ children }: { readonly children?: ReactNode }): ReactNode {
  const isGraph = useRun((s) => current(s.model)?.kind === "demo-graph");
  if (isGraph) return <p className={styles["heading"]}>One run through the segments, compared with the reference.</p>;
  return (
    <>
      <h2 className={styles["heading"]}>Live</h2>
      <SpeedCard />
      {children}
      <TokenCard />
      <ContextCard />
      <TemplateCard />
    </>
  );
}

function SpeedCard(): ReactNode {
  const rates = useRun((s) => s.rates);
  const last = useRun((s) => s.turns.at(-1)?.answer ?? null);
  const sorted = [...rates].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const stats = last?.stats ?? null;
  return (
    <Card title="Tokens per second" aside={last === null ? undefined : <TruthMark truth={last.truth} />}>
      {rates.length < 2 ? (
        <p className={styles["noCurve"]}>
          {stats === null
            ? "The speed of an answer is drawn here while it comes."
            : "The answer was too short for a curve."}
        </p>
      ) : (
        <Sparkline values={rates} label={`Tokens per second, median ${significant(median ?? 0)}`} />
      )}
      <Facts
        rows={[
          ["now", rates.length === 0 ? "–" : significant(rates.at(-1) ?? 0)],
          ["median", median === undefined ? "–" : significant(median)],
          ["whole answer", stats === null || stats.rate === null ? "–" : <FigureText key="rate" figure={stats.rate} />],
          ["reading", stats === null || stats.promptRate === null ? "–" : figureText(stats.promptRate)],
        ]}
      />
    </Card>
  );
}

function TokenCard(): ReactNode {
  const turns = useRun((s) => s.turns);
  const chosen = useRun((s) => s.chosenToken);
  const certainty = useRun((s) => s.certainty);
  const setCertainty = useRun((s) => s.setCertainty);
  const answer = (chosen === null ? turns.at(-1) : turns.find(({ id }) => id === chosen.turn))?.answer;
  const token = chosen === null ? answer?.tokens.at(-1) : answer?.tokens[chosen.token];
  const visible = (text: string): string => (text === "" ? "·" : text.replaceAll("\n", "⏎"));
  return (
    <Card
      title={chosen === null ? "The last token" : "The chosen token"}
      aside={token === undefined ? undefined : share(Math.exp(token.logprob))}
    >
      {token === undefined ? (
        <p className={styles["heading"]}>Click a token of an answer to see what else it might have been.</p>
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
        tokens by doubt
      </label>
    </Card>
  );
}

function ContextCard(): ReactNode {
  const stats = useRun((s) => s.turns.at(-1)?.answer.stats ?? null);
  return (
    <Card title="Context">
      <Meter value={stats === null ? 0 : stats.contextUsed / Math.max(1, stats.contextSize)} label="Context in use" />
      <Note>
        {stats === null
          ? "Nothing is in the cache yet."
          : `${count(stats.contextUsed)} of ${count(stats.contextSize)} tokens. ${bytes(stats.cacheBytes)} of cache.`}
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
