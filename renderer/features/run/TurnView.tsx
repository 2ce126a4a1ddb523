/** A turn: its question, which can be edited where it stands, its answer, and what can be done with it. */
import { ChevronLeft, ChevronRight, GitBranch, Pencil, RefreshCw, Trash2 } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { useState } from "react";
import { Button, IconButton } from "../../ui/Button.tsx";
import { CopyIcon } from "../../ui/CopyButton.tsx";
import { GrowingText } from "../../ui/GrowingText.tsx";
import { AnswerView } from "./AnswerView.tsx";
import { AttachmentChips } from "./AttachmentChips.tsx";
import { versionsOf } from "./conversation.ts";
import { GivenResults } from "./ReplyView.tsx";
import type { RunMode, Turn } from "./request.ts";
import { useRun } from "./useRun.ts";
import styles from "./Turn.module.css";

export function TurnView({ id }: { readonly id: number }): ReactNode {
  const turn = useRun((s) => s.turns.find((each) => each.id === id) ?? null);
  const mode = useRun((s) => s.runMode);
  const [editing, setEditing] = useState(false);
  if (turn === null) return null;
  return (
    <article className={styles["turn"]} aria-label={`Turn ${id}`}>
      {turn.results.length > 0 ? (
        <GivenResults results={turn.results} />
      ) : editing ? (
        <EditQuestion turn={turn} onDone={() => setEditing(false)} />
      ) : (
        <Question turn={turn} mode={mode} />
      )}
      <AnswerView id={turn.id} answer={turn.answer}>
        <Actions turn={turn} onEdit={() => setEditing(true)} />
      </AnswerView>
    </article>
  );
}

export function Question({
  turn: { prompt, attachments },
  mode,
}: {
  readonly turn: Pick<Turn, "prompt" | "attachments">;
  readonly mode: RunMode;
}): ReactNode {
  return (
    <div className={mode === "chat" ? styles["you"] : styles["beginning"]}>
      <AttachmentChips attachments={attachments} />
      {prompt === "" ? null : <div>{prompt}</div>}
    </div>
  );
}

function EditQuestion({ turn, onDone }: { readonly turn: Turn; readonly onDone: () => void }): ReactNode {
  const [text, setText] = useState(turn.prompt);
  const edit = useRun((s) => s.editTurn);
  const running = useRun((s) => s.running !== null);
  const isReady = !running && (text.trim() !== "" || turn.attachments.length > 0);
  const send = (): void => {
    if (!isReady) return;
    onDone();
    void edit(turn.id, text);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onDone();
    else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className={styles["editing"]}>
      <AttachmentChips attachments={turn.attachments} />
      <GrowingText
        autoFocus
        aria-label="Edit the question"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className={styles["editEnd"]}>
        <Button small onClick={onDone}>
          Cancel
        </Button>
        <Button small look="primary" disabled={!isReady} onClick={send}>
          Send again
        </Button>
      </div>
    </div>
  );
}

/** Seen where the pointer or the focus is, and below the last answer. */
function Actions({ turn, onEdit }: { readonly turn: Turn; readonly onEdit: () => void }): ReactNode {
  const running = useRun((s) => s.running !== null);
  const seed = useRun((s) => s.parameters.seed);
  const regenerate = useRun((s) => s.regenerate);
  const branch = useRun((s) => s.branch);
  const remove = useRun((s) => s.deleteTurn);
  const isLast = useRun((s) => s.turns.at(-1)?.id === turn.id);
  if (turn.answer.end === null) return null;
  return (
    <div className={styles["actions"]} data-last={isLast} role="group" aria-label={`Turn ${turn.id}`}>
      <Versions turn={turn} />
      <CopyIcon label="Copy the answer" text={() => turn.answer.reply.content} />
      {turn.results.length > 0 ? null : (
        <IconButton label="Edit the question and send it again" disabled={running} onClick={onEdit}>
          <Pencil size={13} aria-hidden="true" />
        </IconButton>
      )}
      <IconButton
        label={seed === null ? "Regenerate" : `Regenerate, with seed ${seed} again`}
        disabled={running}
        onClick={() => void regenerate(turn.id)}
      >
        <RefreshCw size={13} aria-hidden="true" />
      </IconButton>
      <IconButton label="Branch: a new conversation from here" disabled={running} onClick={() => branch(turn.id)}>
        <GitBranch size={13} aria-hidden="true" />
      </IconButton>
      <IconButton label="Delete this turn" disabled={running} onClick={() => remove(turn.id)}>
        <Trash2 size={13} aria-hidden="true" />
      </IconButton>
    </div>
  );
}

/** ‹ 1/2 ›, where a question was edited or answered again. */
function Versions({ turn }: { readonly turn: Turn }): ReactNode {
  const others = useRun((s) => s.others);
  const turns = useRun((s) => s.turns);
  const running = useRun((s) => s.running !== null);
  const choose = useRun((s) => s.chooseVersion);
  const versions = versionsOf({ turns, others }, turn);
  if (versions.length < 2) return null;
  const at = versions.indexOf(turn);
  return (
    <span className={styles["versions"]}>
      <IconButton label="Previous version" disabled={running || at === 0} onClick={() => choose(turn.id, -1)}>
        <ChevronLeft size={13} aria-hidden="true" />
      </IconButton>
      <span aria-label={`Version ${at + 1} of ${versions.length}`} role="img">
        {at + 1}/{versions.length}
      </span>
      <IconButton
        label="Next version"
        disabled={running || at === versions.length - 1}
        onClick={() => choose(turn.id, 1)}
      >
        <ChevronRight size={13} aria-hidden="true" />
      </IconButton>
    </span>
  );
}
