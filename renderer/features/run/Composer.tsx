/** Starts and stops a run: the text, its parameters, and the way to earlier runs. */
import { History, SquarePen } from "lucide-react";
import type { KeyboardEvent, ReactNode, RefObject } from "react";
import { useEffect, useRef } from "react";
import { current } from "../../session/async.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { plural } from "../../ui/format.ts";
import { Segmented } from "../../ui/Segmented.tsx";
import { Parameters } from "./Parameters.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

const TEMPLATE_HINTS = {
  file: "Uses the chat template of the file",
  chatml: "Uses ChatML: the file has no template, but its vocabulary has the ChatML tokens",
  none: "This file has no chat template",
};

export function Composer(): ReactNode {
  const draft = useRun((s) => s.draft);
  const setDraft = useRun((s) => s.setDraft);
  const send = useRun((s) => s.send);
  const stop = useRun((s) => s.stop);
  const running = useRun((s) => s.running);
  const mode = useRun((s) => s.runMode);
  const setMode = useRun((s) => s.setRunMode);
  const template = useRun((s) => current(s.template)?.origin ?? null);
  const hasTurns = useRun((s) => s.turns.length + s.pairTurns.length > 0);
  const clear = useRun((s) => s.clearTurns);
  const runs = useRun((s) => s.runHistory.length);
  const historyShown = useRun((s) => s.historyShown);
  const showHistory = useRun((s) => s.showHistory);
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocus(box, field, running !== null, historyShown);
  useEscape(running !== null, stop);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.metaKey || event.ctrlKey || event.nativeEvent.isComposing)
      return;
    event.preventDefault();
    void send();
  };
  return (
    <div className={styles["composerRoom"]}>
      <div ref={box} className={styles["composer"]}>
        <textarea
          ref={field}
          id="composer"
          aria-label={mode === "chat" ? "Your message" : "Text to continue"}
          placeholder={mode === "chat" ? "Ask something…" : "Once upon a time…"}
          rows={Math.min(8, Math.max(1, draft.split("\n").length))}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles["controls"]}>
          <Parameters />
          <span className={styles["space"]} />
          {runs === 0 ? null : (
            <IconButton
              label={`History, ${plural(runs, "run")}`}
              aria-pressed={historyShown}
              onClick={() => showHistory(!historyShown)}
            >
              <History size={14} aria-hidden="true" />
            </IconButton>
          )}
          {hasTurns && running === null ? (
            <IconButton label="New conversation" onClick={clear}>
              <SquarePen size={14} aria-hidden="true" />
            </IconButton>
          ) : null}
          <Segmented
            label="Mode"
            value={mode}
            options={[
              {
                id: "chat",
                text: "Chat",
                disabled: template === null,
                hint: TEMPLATE_HINTS[template ?? "none"],
              },
              { id: "completion", text: "Text", hint: "Continues your text" },
            ]}
            onChange={setMode}
          />
          {running === null ? (
            <Button small look="primary" disabled={draft.trim() === ""} onClick={() => void send()}>
              Send
            </Button>
          ) : (
            <Button small look="primary" title="Esc" onClick={stop} disabled={running.stopping}>
              {running.stopping ? "Stopping" : "Stop"}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}

/**
 * The composer takes the focus when the tab opens and when an answer ends, unless the user has put
 * the focus elsewhere or walks along the tabs by arrow keys.
 */
function useFocus(
  box: RefObject<HTMLDivElement | null>,
  field: RefObject<HTMLTextAreaElement | null>,
  running: boolean,
  historyShown: boolean,
): void {
  useEffect(() => {
    if (historyShown) return;
    const active = document.activeElement;
    if (active?.id === "tab-run" && active.matches(":focus-visible")) return;
    field.current?.focus();
  }, [field, historyShown]);
  const ran = useRef(false);
  useEffect(() => {
    const active = document.activeElement;
    if (ran.current && !running && (active === document.body || box.current?.contains(active) === true))
      field.current?.focus();
    ran.current = running;
  }, [box, field, running]);
}

/** Escape stops the run, unless an open dialog or popover takes the key. */
function useEscape(running: boolean, stop: () => void): void {
  useEffect(() => {
    if (!running) return undefined;
    const onKeyDown = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector('[role="dialog"]') !== null)
        return;
      event.preventDefault();
      stop();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [running, stop]);
}
