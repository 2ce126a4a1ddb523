/** An embedder at work: texts become vectors, a matrix says how alike they are, documents are sorted by a query. */
import type { ReactNode } from "react";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Progress } from "../../ui/states.tsx";
import { Matrix } from "./Matrix.tsx";
import { Ranks } from "./Ranks.tsx";
import { Vectors } from "./Vectors.tsx";
import type { EmbedFields, EmbedTask } from "./slice.ts";
import { linesOf } from "./slice.ts";
import { useEmbed } from "./useEmbed.ts";
import styles from "./Embed.module.css";

export function EmbedTab(): ReactNode {
  const overview = useEmbed((s) => current(s.model));
  const device = useEmbed((s) => s.embedFields.device);
  const running = useEmbed((s) => s.embedRunning !== null);
  const set = useEmbed((s) => s.setEmbed);
  const setTab = useEmbed((s) => s.setTab);
  if (overview === null) return null;
  if (!overview.canEmbed.ok)
    return (
      <CannotHere
        title="This model makes no vectors here"
        why={overview.canEmbed}
        onLocate={() => setTab("overview")}
      />
    );
  const ranks = overview.embedder?.pooling === "rank";
  return (
    <div className={styles["tab"]}>
      <div className={styles["bar"]}>
        <span>
          {ranks ? "A reranker: it scores a document for a query." : "An embedder: it makes vectors of texts."}
        </span>
        <span className={styles["space"]} />
        <DevicePicker
          label="Runs on"
          lead="On"
          value={device}
          disabled={running}
          onChange={(chosen) => set({ device: chosen })}
        />
      </div>
      {ranks ? null : <Similarity />}
      <Reranking />
    </div>
  );
}

function Similarity(): ReactNode {
  const answer = useEmbed((s) => s.embedVectors);
  return (
    <Card title="How alike are these texts?" aside="cosine of each text with each other">
      <Field name="texts" label="Texts, one in each line" rows={4} />
      <Work task="vectors" action="Embed" needs={["texts"]} lacks="Write a text first." />
      {answer === null ? null : (
        <>
          {answer.done.similarity === null ? null : <Matrix texts={answer.texts} cosines={answer.done.similarity} />}
          <Vectors texts={answer.texts} done={answer.done} />
        </>
      )}
    </Card>
  );
}

function Reranking(): ReactNode {
  const answer = useEmbed((s) => s.embedRanks);
  return (
    <Card title="Which document answers?" aside="the best first">
      <Field name="query" label="Query" rows={1} />
      <Field name="documents" label="Documents, one in each line" rows={4} />
      <Work
        task="ranks"
        action="Sort"
        needs={["query", "documents"]}
        lacks="Write a query and at least one document first."
      />
      {answer === null ? null : <Ranks answer={answer} />}
    </Card>
  );
}

type TextName = Exclude<keyof EmbedFields, "device">;

function Field({
  name,
  label,
  rows,
}: {
  readonly name: TextName;
  readonly label: string;
  readonly rows: number;
}): ReactNode {
  const text = useEmbed((s) => s.embedFields[name]);
  const set = useEmbed((s) => s.setEmbed);
  return (
    <label className={styles["field"]}>
      <span>{label}</span>
      <textarea rows={rows} value={text} onChange={(event) => set({ [name]: event.target.value })} />
    </label>
  );
}

/** The button of a task, how far it is, and its error. */
function Work({
  task,
  action,
  needs,
  lacks,
}: {
  readonly task: EmbedTask;
  readonly action: string;
  readonly needs: readonly TextName[];
  /** Said while one of them is empty. */
  readonly lacks: string;
}): ReactNode {
  const isEmpty = useEmbed((s) => needs.some((name) => linesOf(s.embedFields[name]).length === 0));
  const running = useEmbed((s) => s.embedRunning);
  const failed = useEmbed((s) => s.embedError);
  const start = useEmbed((s) => s.startEmbed);
  const stop = useEmbed((s) => s.stopEmbed);
  const isMine = running?.task === task;
  return (
    <>
      <div className={styles["actions"]}>
        {isMine ? (
          <Button look="primary" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button look="primary" disabled={running !== null || isEmpty} onClick={() => void start(task)}>
            {action}
          </Button>
        )}
        {isEmpty ? <Note>{lacks}</Note> : null}
      </div>
      {isMine ? <Progress sentence={running.sentence} fraction={running.fraction} since={running.since} /> : null}
      {failed?.task === task ? (
        <ErrorNote title={`${action} failed`} error={failed.error} onRetry={() => void start(task)} />
      ) : null}
    </>
  );
}
