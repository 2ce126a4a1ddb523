/** One question and the answers of several columns, with the first token that differs marked in each. */
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import type { DeviceInfo } from "../../../main/contract/views/engine.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { current } from "../../session/async.ts";
import { IconButton } from "../../ui/Button.tsx";
import { CopyIcon } from "../../ui/CopyButton.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { significant } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { Foot } from "./AnswerView.tsx";
import { Tokens } from "./Tokens.tsx";
import { Question } from "./TurnView.tsx";
import type { Column, ColumnTurn } from "./columns.ts";
import { comparedSentence, divergences, speedRatio } from "./columns.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

export function ColumnTurns(): ReactNode {
  const turns = useRun((s) => s.columnTurns);
  return turns.map((turn) => <ColumnTurnView key={turn.id} turn={turn} />);
}

/** "MLX"; of another model "Qwen3 0.6B on MLX". Columns of the same model and device have their numbers beside. */
export function columnTitles(devices: readonly DeviceInfo[] | null, columns: readonly Column[]): readonly string[] {
  const titles = columns.map(({ answer, parameters, model }) => {
    const device = deviceTitle(devices, answer.device ?? parameters.device);
    return model === null ? device : `${model.title} on ${device}`;
  });
  return titles.map((title, i) =>
    titles.filter((each) => each === title).length > 1 ? `${title}, column ${i + 1}` : title,
  );
}

function ColumnTurnView({ turn }: { readonly turn: ColumnTurn }): ReactNode {
  const at = divergences(turn.columns);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const running = useRun((s) => s.running !== null);
  const remove = useRun((s) => s.deleteTurn);
  const titles = columnTitles(devices, turn.columns);
  const [first, ...others] = turn.columns;
  return (
    <article className={styles["columnTurn"]} aria-label={`Side by side, ${titles.join(" and ")}`}>
      <Question turn={turn} mode={turn.mode} />
      <div className={styles["columns"]}>
        {turn.columns.map((column, i) => (
          <ColumnView key={column.id} column={column} title={titles[i] ?? ""} at={at[i] ?? -1} />
        ))}
      </div>
      {/* Read out when it is final: it changes with every token until then. */}
      <div
        className={styles["verdict"]}
        role="status"
        aria-live={turn.columns.every(({ state }) => state === "done") ? "polite" : "off"}
      >
        {first === undefined
          ? null
          : others.map((other, i) => (
              <p key={other.id}>
                {others.length === 1 ? "" : `${titles[0] ?? ""} and ${titles[i + 1] ?? ""}: `}
                {comparedSentence(first, other)} {ratioSentence(turn, other, titles[0] ?? "", titles[i + 1] ?? "")}
              </p>
            ))}
        <p>
          Seed {turn.seed}.
          {running ? null : (
            <IconButton label="Delete this turn" onClick={() => remove(turn.id)}>
              <Trash2 size={13} aria-hidden="true" />
            </IconButton>
          )}
        </p>
      </div>
    </article>
  );
}

function ratioSentence({ columns: [first], order }: ColumnTurn, other: Column, left: string, right: string): string {
  const ratio = first === undefined ? null : speedRatio(first, other);
  if (ratio === null) return "";
  const shared = order === "together" ? ", at once on one machine" : "";
  return `${right} wrote at ${significant(ratio)} × the speed of ${left}${shared}: one run each, no interval.`;
}

interface ColumnViewProps {
  readonly column: Column;
  readonly title: string;
  readonly at: number;
}

function ColumnView({ column: { id, answer, state, sentence }, title, at }: ColumnViewProps): ReactNode {
  return (
    <section className={styles["column"]} aria-label={title} data-state={state}>
      <h3>
        {title}
        {state === "done" && answer.text !== "" ? (
          <CopyIcon label={`Copy the answer of ${title}`} text={() => answer.text} />
        ) : null}
      </h3>
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
      {answer.error === null ? null : <ErrorNote title="There is no answer in this column" error={answer.error} />}
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
