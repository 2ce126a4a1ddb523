/** What the window says unasked: a lost engine at the top, notices in the corner. Both stay until they are read. */
import type { ReactNode } from "react";
import { Button, IconButton } from "../ui/Button.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { plainMessage } from "../ui/ErrorNote.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function LossBanner(): ReactNode {
  const loss = useWorkbench((state) => state.loss);
  const connected = useWorkbench((state) => state.connection === "connected");
  const dismiss = useWorkbench((state) => state.dismissLoss);
  if (loss === null) return null;
  return (
    <div className={styles["loss"]} role="alert">
      <strong>{connected ? "The engine is back." : "The engine is gone."}</strong>
      <span>
        {loss.sentence}
        {loss.lost.length === 0 ? "" : ` Lost: ${loss.lost.join(", ")}.`}
      </span>
      <code>ENGINE_LOST</code>
      {connected ? (
        <Button small onClick={dismiss}>
          Understood
        </Button>
      ) : null}
    </div>
  );
}

export function Notices(): ReactNode {
  const notices = useWorkbench((state) => state.notices);
  const dismiss = useWorkbench((state) => state.dismissNotice);
  return (
    <div className={styles["notices"]} aria-live="polite">
      {notices.map((notice) => (
        <div key={notice.id} className={styles["notice"]} data-level={notice.level}>
          <div className={styles["noticeHead"]}>
            <strong>{notice.title}</strong>
            {notice.code === null ? null : <code>{notice.code}</code>}
            <IconButton label="Dismiss" onClick={() => dismiss(notice.id)}>
              ×
            </IconButton>
          </div>
          <p>{plainMessage(notice.text)}</p>
          {notice.hint === null ? null : <p className={styles["quiet"]}>{notice.hint}</p>}
          {notice.level === "error" ? (
            <CopyButton
              label="Copy details"
              text={() =>
                [notice.title, notice.code ?? "", notice.text, notice.details ?? ""]
                  .filter((line) => line !== "")
                  .join("\n")
              }
            />
          ) : null}
        </div>
      ))}
    </div>
  );
}
