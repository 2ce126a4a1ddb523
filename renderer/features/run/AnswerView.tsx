/** An answer: its tokens shaded by how unsure the model was, or as formatted text; below, how fast it came and why it ended. */
import type { ReactNode } from "react";
import type { RunStats } from "../../../main/contract/views/run.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, figureText, plural } from "../../ui/format.ts";
import { Markdown } from "../../ui/Markdown.tsx";
import { TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import { LoadUnsafe } from "./LoadUnsafe.tsx";
import { textIn } from "./receive.ts";
import { Calls, Reasoning } from "./ReplyView.tsx";
import type { Answer } from "./request.ts";
import { Tokens } from "./Tokens.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

export function AnswerView({
  id,
  answer,
  children,
}: {
  readonly id: number;
  readonly answer: Answer;
  /** What can be done with it. */
  readonly children?: ReactNode;
}): ReactNode {
  const certainty = useRun((s) => s.certainty);
  const resend = useRun((s) => s.resend);
  const running = useRun((s) => (answer.end === null ? s.running : null));
  return (
    <div className={styles["answer"]}>
      {answer.tokens.length === 0 && running !== null ? (
        <Progress sentence={running.sentence} fraction={null} />
      ) : (
        <>
          <Reasoning id={id} answer={answer} />
          <div className={styles["text"]} data-answer>
            {certainty && !isOtherwise(answer) ? (
              <Tokens id={id} tokens={answer.tokens} part="answer" />
            ) : (
              <Markdown text={answer.reply.content} />
            )}
            {answer.end === null ? <i className={styles["cursor"]} aria-hidden="true" /> : null}
          </div>
          <Calls id={id} answer={answer} />
        </>
      )}
      {answer.error === null ? null : (
        <ErrorNote title="The run failed" error={answer.error} onRetry={() => void resend(id)}>
          <LoadUnsafe error={answer.error} onAllowed={() => void resend(id)} />
        </ErrorNote>
      )}
      <Foot answer={answer}>{children}</Foot>
    </div>
  );
}

/** At the end some text may turn out to be something else: a call that could not be read is text again. */
const isOtherwise = ({ end, tokens, reply }: Answer): boolean =>
  end !== null && textIn(tokens, "answer").trim() !== reply.content.trim();

export function Foot({ answer, children }: { readonly answer: Answer; readonly children?: ReactNode }): ReactNode {
  const { stats, end, seed, truth, device, error } = answer;
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  return (
    <div className={styles["foot"]}>
      {device === null ? null : <span>on {deviceTitle(devices, device)}</span>}
      {truth === "simulated" ? <TruthMark truth={truth} /> : null}
      {stats === null ? null : <Numbers stats={stats} live={end === null} />}
      {end === null || seed === null ? null : <span>seed {seed}</span>}
      {end === null || error !== null ? null : <span>{end}</span>}
      {children}
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
      {stats.promptRate === null ? null : <span>prefill {figureText(stats.promptRate)}</span>}
      {now === null ? null : (
        <span className={styles["live"]}>
          <b>{figureText(now)}</b>
          {live ? " now" : ""}
        </span>
      )}
    </>
  );
}
