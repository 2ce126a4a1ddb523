/** The parts of an answer besides its words: reasoning, folded, and calls of tools, which wait for their results. */
import type { ReactNode } from "react";
import { useId, useState } from "react";
import type { ToolCall } from "../../../main/contract/views/chat.ts";
import { Button } from "../../ui/Button.tsx";
import { Note } from "../../ui/Card.tsx";
import { plural } from "../../ui/format.ts";
import { Markdown } from "../../ui/Markdown.tsx";
import type { Answer, ToolResult } from "./request.ts";
import { Tokens } from "./Tokens.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Reply.module.css";

interface Props {
  readonly id: number;
  readonly answer: Answer;
}

/** What the model thought before it answered. */
export function Reasoning({ id, answer }: Props): ReactNode {
  const certainty = useRun((s) => s.certainty);
  const { reply, tokens, end } = answer;
  if (reply.reasoning === "") return null;
  const count = tokens.filter(({ pieces }) => pieces.some(({ part }) => part === "reasoning")).length;
  const isThinking = end === null && reply.content === "" && reply.calls.length === 0;
  return (
    <details className={styles["reasoning"]}>
      <summary>
        {isThinking ? "Thinking" : "Thought"}, {plural(count, "token")}
      </summary>
      <div className={styles["thought"]}>
        {certainty ? <Tokens id={id} tokens={tokens} part="reasoning" /> : <Markdown text={reply.reasoning} />}
      </div>
    </details>
  );
}

/** The calls of an answer. Those of the last turn take results, and the conversation goes on with them. */
export function Calls({ id, answer }: Props): ReactNode {
  const isLast = useRun((s) => s.turns.at(-1)?.id === id);
  const { reply, tokens, end } = answer;
  const isCalling = end === null && tokens.at(-1)?.pieces.some(({ part }) => part === "call") === true;
  const notes = reply.notes.map((note) => <Note key={note}>{note}</Note>);
  if (reply.calls.length === 0 && !isCalling) return notes.length === 0 ? null : <>{notes}</>;
  return (
    <div className={styles["calls"]}>
      {isLast && end !== null && answer.error === null ? (
        <Results calls={reply.calls} />
      ) : (
        reply.calls.map((call) => <CallCard key={call.id} call={call} />)
      )}
      {isCalling ? <Note>Writing a call</Note> : null}
      {notes}
    </div>
  );
}

function CallCard({ call, children }: { readonly call: ToolCall; readonly children?: ReactNode }): ReactNode {
  const title = useId();
  return (
    <section className={styles["call"]} aria-labelledby={title}>
      <h3 id={title}>
        Calls <code>{call.name}</code>
      </h3>
      <pre tabIndex={0} role="group" aria-label={`Arguments of ${call.name}`}>
        {laidOut(call.arguments)}
      </pre>
      {children}
    </section>
  );
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Results({ calls }: { readonly calls: readonly ToolCall[] }): ReactNode {
  const give = useRun((s) => s.giveResults);
  const running = useRun((s) => s.running !== null);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const results: readonly ToolResult[] = calls.map(({ id, name }) => ({ callId: id, name, content: texts[id] ?? "" }));
  const isReady = results.every(({ content }) => content.trim() !== "");
  return (
    <>
      {calls.map((call) => (
        <CallCard key={call.id} call={call}>
          <label className={styles["result"]}>
            <span>Result of {call.name}</span>
            <textarea
              rows={2}
              placeholder="What the tool gives, as text or JSON"
              value={texts[call.id] ?? ""}
              onChange={(event) => setTexts({ ...texts, [call.id]: event.target.value })}
            />
          </label>
        </CallCard>
      ))}
      {calls.length === 0 ? null : (
        <div className={styles["give"]}>
          <Button small look="primary" disabled={!isReady || running} onClick={() => void give(results)}>
            {calls.length === 1 ? "Give the result" : "Give the results"}
          </Button>
        </div>
      )}
    </>
  );
}

/** What tools gave, in the place of a question. */
export function GivenResults({ results }: { readonly results: readonly ToolResult[] }): ReactNode {
  return results.map(({ callId, name, content }) => (
    <section key={callId} className={styles["given"]} aria-label={`Result of ${name}`}>
      <h3>
        <code>{name}</code> gave
      </h3>
      <pre tabIndex={0}>{content}</pre>
    </section>
  ));
}
