/** The conversations of the open model, newest first: to open, rename and delete, by mouse and by keys (arrows, F2, Delete). */
import { FolderOpen, Pencil, Plus, Trash2 } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { useMemo, useRef, useState } from "react";
import { Button, IconButton } from "../../ui/Button.tsx";
import { cx } from "../../ui/cx.ts";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import type { Conversation } from "./conversation.ts";
import { conversationName, wordsOf } from "./conversation.ts";
import { allConversations } from "./conversationSlice.ts";
import { useRun, useRunApi } from "./useRun.ts";
import styles from "./ConversationList.module.css";

/** Of today the time, else the day; "" where nothing was said yet. */
function whenText(at: number, now = new Date()): string {
  if (at === 0) return "";
  const date = new Date(at);
  return date.toDateString() === now.toDateString()
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false })
    : date.toLocaleDateString([], { day: "numeric", month: "short" });
}

interface Row {
  readonly id: number;
  readonly name: string;
  readonly when: string;
}

const rowOf = (conversation: Conversation): Row => ({
  id: conversation.id,
  name: conversationName(conversation),
  when: whenText(conversation.at),
});

/** `filter`: words that have to stand in the name, a question or an answer. */
export function ConversationList({ filter }: { readonly filter: string }): ReactNode {
  const renew = useRun((s) => s.newConversation);
  const rows = useRows(filter);
  const list = useRef<HTMLUListElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>("[data-open]") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (step === 0 || at < 0) return;
    event.preventDefault();
    buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
  };
  return (
    <section className={styles["conversations"]} aria-label="Conversations">
      <div className={styles["head"]}>
        <h3>Conversations</h3>
        <Import />
        <IconButton label="New conversation" onClick={renew}>
          <Plus size={14} aria-hidden="true" />
        </IconButton>
      </div>
      <Deleted />
      <ul ref={list} onKeyDown={onKeyDown}>
        {rows.map((row) => (
          <ConversationRow key={row.id} row={row} />
        ))}
      </ul>
      {rows.length === 0 ? <p className={styles["none"]}>None has these words.</p> : null}
    </section>
  );
}

function Import(): ReactNode {
  const read = useRun((s) => s.importConversation);
  const picker = useFilePicker({
    label: "A conversation saved as JSON",
    accept: ".json,application/json",
    onFiles: ([file]) => void read(file),
  });
  return (
    <>
      <IconButton label="Open a conversation saved as JSON" onClick={picker.open}>
        <FolderOpen size={14} aria-hidden="true" />
      </IconButton>
      {picker.input}
    </>
  );
}

/** Made again when a conversation is asked, named, begun or deleted; not with every token. */
function useRows(filter: string): readonly Row[] {
  const api = useRunApi();
  const open = useRun((s) => s.conversation);
  const first = useRun((s) => conversationName({ ...s, name: s.conversation.name }));
  const others = useRun((s) => s.conversations);
  return useMemo(() => {
    const words = filter
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== "");
    const isFound = (each: Conversation): boolean => {
      if (words.length === 0) return true;
      const text = wordsOf(each);
      return words.every((word) => text.includes(word));
    };
    return allConversations(api.getState()).filter(isFound).map(rowOf);
    // oxlint-disable-next-line react/exhaustive-deps -- what the rows show of the open one is its head and its first words
  }, [api, open, first, others, filter]);
}

function ConversationRow({ row: { id, name, when } }: { readonly row: Row }): ReactNode {
  const isOpen = useRun((s) => s.conversation.id === id);
  const open = useRun((s) => s.openConversation);
  const remove = useRun((s) => s.deleteConversation);
  const [renaming, setRenaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const endRenaming = (): void => {
    setRenaming(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "F2") setRenaming(true);
    else if (event.key === "Delete" || event.key === "Backspace") remove(id);
    else return;
    event.preventDefault();
  };
  if (renaming)
    return (
      <li className={styles["row"]}>
        <Rename id={id} name={name} onDone={endRenaming} />
      </li>
    );
  return (
    <li className={cx(styles["row"], isOpen && styles["on"])}>
      <button
        ref={button}
        type="button"
        data-open
        aria-current={isOpen}
        tabIndex={isOpen ? 0 : -1}
        title={name}
        onClick={() => open(id)}
        onKeyDown={onKeyDown}
      >
        <span className={styles["name"]}>{name}</span>
        <em>{when}</em>
      </button>
      <span className={styles["actions"]}>
        <IconButton label={`Rename ${name}`} tabIndex={isOpen ? 0 : -1} onClick={() => setRenaming(true)}>
          <Pencil size={12} aria-hidden="true" />
        </IconButton>
        <IconButton label={`Delete ${name}`} tabIndex={isOpen ? 0 : -1} onClick={() => remove(id)}>
          <Trash2 size={12} aria-hidden="true" />
        </IconButton>
      </span>
    </li>
  );
}

function Rename({
  id,
  name,
  onDone,
}: {
  readonly id: number;
  readonly name: string;
  readonly onDone: () => void;
}): ReactNode {
  const rename = useRun((s) => s.renameConversation);
  const [text, setText] = useState(name);
  const keep = (): void => {
    if (text.trim() !== name) rename(id, text);
    onDone();
  };
  return (
    <input
      type="text"
      aria-label={`Name of ${name}`}
      autoFocus
      maxLength={200}
      value={text}
      onFocus={(event) => event.target.select()}
      onChange={(event) => setText(event.target.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key === "Enter") keep();
        else if (event.key === "Escape") onDone();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

/** The way back from a deletion, until something else happens. */
function Deleted(): ReactNode {
  const name = useRun((s) => (s.deleted?.of === "conversation" ? s.deleted.name : null));
  const undo = useRun((s) => s.undoDelete);
  const running = useRun((s) => s.running !== null);
  return (
    <div role="status">
      {name === null ? null : (
        <p className={styles["deleted"]}>
          <span className={styles["name"]} title={name}>
            {name} is deleted.
          </span>
          <Button small disabled={running} onClick={undo}>
            Undo
          </Button>
        </p>
      )}
    </div>
  );
}
