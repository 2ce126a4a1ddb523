/** What the window says unasked: a lost engine at the top, notices in the corner. Both stay until they are read. */
import type { ReactNode } from "react";
import { current } from "../session/async.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { plainMessage } from "../ui/ErrorNote.tsx";
import type { WorkbenchState } from "./store.ts";
import { useWorkbench, useWorkbenchApi } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

/** What can be started again by itself; a file that was being sent is offered where it was. */
type Again = "run" | "bench" | "profile" | "export" | "hybrid";
const AGAIN: { readonly [K in Again]: string } = {
  run: "Ask again",
  bench: "Measure again",
  profile: "Record again",
  export: "Export again",
  hybrid: "Run again",
};

export function LossBanner(): ReactNode {
  const api = useWorkbenchApi();
  const loss = useWorkbench((state) => state.loss);
  const connected = useWorkbench((state) => state.connection === "connected");
  const open = useWorkbench((state) => current(state.model) !== null);
  const dismiss = useWorkbench((state) => state.dismissLoss);
  if (loss === null) return null;
  const lost = loss.lost.length === 0 ? "" : ` Lost: ${loss.lost.join(", ")}.`;
  // Only with its model open again: until then whatever is asked would fail.
  const back = connected && loss.over;
  const again = loss.jobs.find((kind): kind is Again => kind in AGAIN);
  return (
    <div className={styles["loss"]} role="alert">
      <strong>
        {back ? "The engine is back." : loss.foreign ? "The engine is another version." : "The engine is gone."}
      </strong>
      <span>
        {loss.sentence}
        {lost}
      </span>
      <code>ENGINE_LOST</code>
      <CopyButton label="Copy details" text={() => `ENGINE_LOST\n${loss.sentence}${lost}`} />
      {back && open && again !== undefined ? (
        <Button
          small
          look="primary"
          onClick={() => {
            dismiss();
            startAgain(api.getState(), again);
          }}
        >
          {AGAIN[again]}
        </Button>
      ) : null}
      {connected ? (
        <Button small onClick={dismiss}>
          Understood
        </Button>
      ) : (
        <Button small onClick={() => location.reload()}>
          Reload the window
        </Button>
      )}
    </div>
  );
}

function startAgain(state: WorkbenchState, kind: Again): void {
  state.setTab(kind === "hybrid" ? "run" : kind);
  const failed = state.turns.findLast(({ answer }) => answer.error !== null);
  if (kind === "run" && failed !== undefined) void state.resend(failed.id);
  else if (kind === "bench") void state.startBench();
  else if (kind === "profile") void state.startProfile();
  else if (kind === "export") void state.exportActions.start();
  else if (kind === "hybrid") void state.runHybrid();
}

export function Notices(): ReactNode {
  const notices = useWorkbench((state) => state.notices);
  const dismiss = useWorkbench((state) => state.dismissNotice);
  return (
    <div className={styles["notices"]} aria-live="polite">
      {notices.map((notice) => (
        <div
          key={notice.id}
          className={styles["notice"]}
          data-level={notice.level}
          role={notice.level === "error" ? "alert" : undefined}
        >
          <div className={styles["noticeHead"]}>
            <strong>{notice.title}</strong>
            {notice.code === null ? null : <code>{notice.code}</code>}
            <IconButton label="Dismiss" onClick={() => dismiss(notice.id)}>
              ×
            </IconButton>
          </div>
          <p>{plainMessage(notice.text)}</p>
          {notice.hint === null ? null : <p className={styles["quiet"]}>{notice.hint}</p>}
          {notice.level !== "info" ? (
            <CopyButton
              label="Copy details"
              text={() =>
                [notice.title, notice.code ?? "", notice.text, notice.hint ?? "", notice.details ?? ""]
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
