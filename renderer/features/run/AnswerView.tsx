/** An answer: its tokens shaded by how unsure the model was, or as formatted text; below, how fast it came and why it ended. */
import type { ReactNode } from "react";
import { memo } from "react";
import type { RunStats, TokenView } from "../../../main/contract/views/run.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, figureText, plural } from "../../ui/format.ts";
import { Markdown } from "../../ui/Markdown.tsx";
import { TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import type { Answer } from "./request.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

export const AnswerView = memo(function AnswerView({
  id,
  answer,
}: {
  readonly id: number;
  readonly answer: Answer;
}): ReactNode {
  const certainty = useRun((s) => s.certainty);
  const resend = useRun((s) => s.resend);
  const running = useRun((s) => (answer.end === null ? s.running : null));
  return (
    <div className={styles["answer"]}>
      {answer.tokens.length === 0 && running !== null ? (
        <Progress sentence={running.sentence} fraction={null} />
      ) : (
        <div className={styles["text"]} data-answer>
          {certainty ? <Tokens id={id} tokens={answer.tokens} /> : <Markdown text={answer.text} />}
          {answer.end === null ? <i className={styles["cursor"]} aria-hidden="true" /> : null}
        </div>
      )}
      {answer.error === null ? null : (
        <ErrorNote title="The run failed" error={answer.error} onRetry={() => void resend(id)} />
      )}
      <Foot answer={answer} />
    </div>
  );
});

/** Certain tokens are plain; the rarer the model thought one, the stronger its shade. */
export const shadeOf = (logprob: number): number => Math.round((1 - Math.min(1, Math.exp(logprob))) * 42);

export interface TokensProps {
  readonly id: number;
  readonly tokens: readonly TokenView[];
  /** The first token that another device wrote otherwise; -1: none. */
  readonly differsAt?: number;
}

export function Tokens({ id, tokens, differsAt = -1 }: TokensProps): ReactNode {
  const certainty = useRun((s) => s.certainty);
  const chosen = useRun((s) => (s.chosenToken?.turn === id ? s.chosenToken.token : -1));
  const choose = useRun((s) => s.chooseToken);
  return (
    <span
      onClick={(event) => {
        const at = event.target instanceof HTMLElement ? event.target.dataset["token"] : undefined;
        choose(at === undefined ? null : { turn: id, token: Number(at) });
      }}
    >
      {tokens.map((token, i) => (
        <Token
          key={i}
          index={i}
          text={token.text}
          shade={certainty ? shadeOf(token.logprob) : 0}
          chosen={i === chosen}
          differs={i === differsAt}
        />
      ))}
    </span>
  );
}

const Token = memo(function Token({
  index,
  text,
  shade,
  chosen,
  differs,
}: {
  readonly index: number;
  readonly text: string;
  readonly shade: number;
  readonly chosen: boolean;
  readonly differs: boolean;
}): ReactNode {
  return (
    <span
      className={cx(styles["token"], differs && styles["differs"])}
      title={differs ? "The first token that differs" : undefined}
      data-token={index}
      data-chosen={chosen}
      style={shade === 0 ? undefined : { background: `color-mix(in srgb, var(--select) ${shade}%, transparent)` }}
    >
      {text}
    </span>
  );
});

export function Foot({ answer }: { readonly answer: Answer }): ReactNode {
  const { stats, end, seed, truth, device } = answer;
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  return (
    <div className={styles["foot"]}>
      {device === null ? null : <span>on {deviceTitle(devices, device)}</span>}
      {truth === "simulated" ? <TruthMark truth={truth} /> : null}
      {stats === null ? null : <Numbers stats={stats} live={end === null} />}
      {end === null || seed === null ? null : <span>seed {seed}</span>}
      {end === null ? null : <span>{end}</span>}
    </div>
  );
}

function Numbers({ stats, live }: { readonly stats: RunStats; readonly live: boolean }): ReactNode {
  const now = live ? (stats.rateNow ?? stats.rate) : stats.rate;
  return (
    <>
      <span className={styles["live"]}>{plural(stats.generated, "token")}</span>
      {stats.firstTokenSeconds === null ? null : (
        <span>
          first after {figureText(stats.firstTokenSeconds)}
          {stats.reusedTokens > 0 && stats.recomputed === null ? `, ${count(stats.reusedTokens)} reused` : ""}
        </span>
      )}
      {stats.recomputed === null ? null : (
        <span>
          reused {count(stats.reusedTokens)}, recomputed {count(stats.recomputed.tokens)}, because{" "}
          {stats.recomputed.because}
        </span>
      )}
      {stats.promptRate === null ? null : <span>read {figureText(stats.promptRate)}</span>}
      {now === null ? null : (
        <span className={styles["live"]}>
          <b>{figureText(now)}</b>
          {live ? " now" : ""}
        </span>
      )}
    </>
  );
}
