/** The open conversation by its name: to rename, copy, save and delete it. */
import type { ReactNode } from "react";
import { useId } from "react";
import { conversationJson, conversationMarkdown } from "../../../main/contract/views/conversation.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { saveText } from "../../ui/saveText.ts";
import type { Conversation as ConversationFile } from "../../../main/contract/views/conversation.ts";
import { conversationFile, conversationName } from "./conversation.ts";
import { openConversationOf } from "./conversationSlice.ts";
import { useRun, useRunApi } from "./useRun.ts";
import styles from "./RunBar.module.css";

/** A name that any system takes for a file. */
export const fileNameOf = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{N} ._-]+/gu, " ")
    .replaceAll(/\s+/gu, " ")
    .replace(/^[. ]+/u, "")
    .trim()
    .slice(0, 60)
    .trim() || "conversation";

export function ConversationMenu(): ReactNode {
  const name = useRun((s) => conversationName({ ...s, name: s.conversation.name }));
  return (
    <Popover
      small
      firm
      label="Conversation"
      width={460}
      trigger={
        <b className={styles["title"]} title={name}>
          {name}
        </b>
      }
    >
      <Menu name={name} />
    </Popover>
  );
}

function Menu({ name }: { readonly name: string }): ReactNode {
  const api = useRunApi();
  const id = useRun((s) => s.conversation.id);
  const own = useRun((s) => s.conversation.name);
  const rename = useRun((s) => s.renameConversation);
  const remove = useRun((s) => s.deleteConversation);
  const running = useRun((s) => s.running !== null);
  const isSaid = useRun((s) => s.turns.length + s.columnTurns.length > 0);
  const field = useId();
  const file = (): ConversationFile => {
    const state = api.getState();
    return conversationFile(openConversationOf(state), current(state.model)?.title ?? "", Date.now());
  };
  return (
    <div className={styles["menu"]}>
      <label htmlFor={field}>Name</label>
      <input
        id={field}
        className={styles["name"]}
        type="text"
        maxLength={200}
        placeholder={name}
        value={own ?? ""}
        onChange={(event) => rename(id, event.target.value)}
      />
      {isSaid ? (
        <div className={styles["menuRow"]}>
          <CopyButton label="Copy as Markdown" text={() => conversationMarkdown(file())} />
          <Button
            small
            onClick={() => saveText(`${fileNameOf(name)}.md`, conversationMarkdown(file()), "text/markdown")}
          >
            Save as Markdown
          </Button>
          <Button
            small
            title="Can be read again: rlx chat --conversation"
            onClick={() => saveText(`${fileNameOf(name)}.json`, conversationJson(file()), "application/json")}
          >
            Save as JSON
          </Button>
        </div>
      ) : null}
      <div className={styles["menuRow"]}>
        <Button small disabled={running || !isSaid} onClick={() => remove(id)}>
          Delete the conversation
        </Button>
      </div>
    </div>
  );
}
