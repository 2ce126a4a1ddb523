/** One question and the answers of two devices in columns, with the first token that differs marked in both. */
import type { ReactNode } from "react";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { significant } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { Foot } from "./AnswerView.tsx";
import { Tokens } from "./Tokens.tsx";
import type { PairSide, PairTurn } from "./pair.ts";
import { differenceOf, pairRatio, pairSentence } from "./pair.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

export function PairTurns(): ReactNode {
  const turns = useRun((s) => s.pairTurns);
  return turns.map((turn) => <PairView key={turn.id} turn={turn} />);
}

function PairView({ turn }: { readonly turn: PairTurn }): ReactNode {
  const at = differenceOf(turn);
  const ratio = pairRatio(turn);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const [left, right] = turn.sides.map(({ parameters }) => deviceTitle(devices, parameters.device));
  return (
    <article className={styles["pairTurn"]} aria-label={`Side by side, ${left ?? ""} and ${right ?? ""}`}>
      {turn.mode === "chat" ? (
        <div className={styles["you"]}>{turn.prompt}</div>
      ) : (
        <div className={styles["beginning"]}>{turn.prompt}</div>
      )}
      <div className={styles["columns"]}>
        {turn.sides.map((side) => (
          <Column key={side.id} side={side} at={at} />
        ))}
      </div>
      {/* Read out when it is final: it changes with every token until then. */}
      <p
        className={styles["verdict"]}
        role="status"
        aria-live={turn.sides.every(({ state }) => state === "done") ? "polite" : "off"}
      >
        {pairSentence(turn)}
        {ratio === null
          ? ""
          : ` ${right ?? ""} wrote at ${significant(ratio)} × the speed of ${left ?? ""}${turn.order === "together" ? ", both at once on one machine" : ""}: one run each, no interval.`}{" "}
        Seed {turn.seed}.
      </p>
    </article>
  );
}

function Column({ side, at }: { readonly side: PairSide; readonly at: number }): ReactNode {
  const { id, answer, state, sentence, parameters } = side;
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const title = deviceTitle(devices, answer.device ?? parameters.device);
  return (
    <section className={styles["column"]} aria-label={title} data-state={state}>
      <h3>{title}</h3>
      {answer.tokens.length === 0 && state !== "done" ? (
        state === "waiting" ? (
          <p className={styles["heading"]}>{sentence}</p>
        ) : (
          <Progress sentence={sentence} fraction={null} />
        )
      ) : (
        <div className={styles["text"]}>
          <Tokens id={id} tokens={answer.tokens} differsAt={at} />
          {at >= 0 && at === answer.tokens.length ? <DifferentEnd /> : null}
          {state === "running" ? <i className={styles["cursor"]} aria-hidden="true" /> : null}
        </div>
      )}
      {answer.error === null ? null : <ErrorNote title="This device did not answer" error={answer.error} />}
      <Foot answer={answer} />
    </section>
  );
}

/** Where one answer ends and the other goes on. */
function DifferentEnd(): ReactNode {
  return (
    <mark className={styles["differs"]} title="It ends here; the other goes on">
      ▏
    </mark>
  );
}
