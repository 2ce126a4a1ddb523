/** The log at the bottom: what this window did as commands, what it was told, each line to copy. */
import type { ReactNode } from "react";
import { useLayoutEffect, useRef } from "react";
import { logText } from "../session/log.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { plural } from "../ui/format.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./LogPane.module.css";

export function LogPane(): ReactNode {
  const log = useWorkbench((state) => state.log);
  const toggle = useWorkbench((state) => state.toggleLog);
  const clear = useWorkbench((state) => state.clearLog);
  const lines = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (lines.current !== null) lines.current.scrollTop = lines.current.scrollHeight;
  }, [log]);
  return (
    <section className={styles["log"]} aria-label="Log">
      <div className={styles["head"]}>
        <h2>Log</h2>
        <span>{log.length === 0 ? "" : plural(log.length, "line")}</span>
        <i />
        <CopyButton label="Copy all" text={() => logText(log)} />
        <Button small look="ghost" disabled={log.length === 0} onClick={clear}>
          Clear
        </Button>
        <IconButton label="Close the log" onClick={toggle}>
          ×
        </IconButton>
      </div>
      <div ref={lines} className={styles["lines"]} role="log" aria-label="Lines of the log" tabIndex={0}>
        {log.length === 0 ? (
          <p>Every action appears here as the command that repeats it; so does every notice.</p>
        ) : (
          log.map(({ id, at, kind, code, text }) => (
            <div key={id} data-kind={kind}>
              <time>{new Date(at).toLocaleTimeString([], { hour12: false })}</time>
              <b>{kind === "command" ? "$" : kind}</b>
              <span>
                {code === null ? null : <code>{code}</code>} {text}
              </span>
            </div>
          ))
        )}
      </div>
    </section>
  );
}
