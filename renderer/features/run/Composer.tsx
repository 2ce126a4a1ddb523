/** Starts and stops a run: the text, the files that go with it, its parameters, and the way to earlier runs. */
import { History, Paperclip, X } from "lucide-react";
import type { DragEvent, KeyboardEvent, ReactNode, RefObject } from "react";
import { useEffect, useRef, useState } from "react";
import { current } from "../../session/async.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { plainMessage } from "../../ui/ErrorNote.tsx";
import { plural } from "../../ui/format.ts";
import { GrowingText } from "../../ui/GrowingText.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import { AttachmentChips } from "./AttachmentChips.tsx";
import { Parameters } from "./Parameters.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Composer.module.css";

const TEMPLATE_HINTS = {
  file: "Uses the chat template of the file",
  chatml: "Uses ChatML: the file has no template, but its vocabulary has the ChatML tokens",
  none: "This file has no chat template",
};

export function Composer(): ReactNode {
  const draft = useRun((s) => s.draft);
  const setDraft = useRun((s) => s.setDraft);
  const attachments = useRun((s) => s.attachments);
  const detach = useRun((s) => s.detach);
  const send = useRun((s) => s.send);
  const running = useRun((s) => s.running !== null);
  const stop = useRun((s) => s.stop);
  const mode = useRun((s) => s.runMode);
  const historyShown = useRun((s) => s.historyShown);
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const drop = useFileDrop();
  useFocus(box, field, running, historyShown);
  useEscape(running, stop);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.metaKey || event.ctrlKey || event.nativeEvent.isComposing)
      return;
    event.preventDefault();
    void send();
  };
  return (
    <div className={styles["composerRoom"]}>
      <div ref={box} className={styles["composer"]} {...drop}>
        <AttachmentChips attachments={attachments} onRemove={detach} />
        <Refused />
        <GrowingText
          field={field}
          id="composer"
          aria-label={mode === "chat" ? "Your message" : "Text to continue"}
          placeholder={mode === "chat" ? "Ask something…" : "Once upon a time…"}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <Controls />
      </div>
    </div>
  );
}

/** Files that were not taken, and why: beside the field, not over it. */
function Refused(): ReactNode {
  const refused = useRun((s) => s.refusedFiles);
  const dismiss = useRun((s) => s.dismissRefused);
  if (refused.length === 0) return null;
  return (
    <div className={styles["refused"]} role="alert">
      <div>
        {refused.map(({ name, error: { code, message, hint } }) => (
          <p key={name}>
            {plainMessage(message)} {hint} <code>{code}</code>
          </p>
        ))}
      </div>
      <IconButton label="Dismiss" onClick={dismiss}>
        <X size={13} aria-hidden="true" />
      </IconButton>
    </div>
  );
}

function Controls(): ReactNode {
  const mode = useRun((s) => s.runMode);
  const setMode = useRun((s) => s.setRunMode);
  const template = useRun((s) => current(s.template)?.origin ?? null);
  const runs = useRun((s) => s.runHistory.length);
  const historyShown = useRun((s) => s.historyShown);
  const showHistory = useRun((s) => s.showHistory);
  return (
    <div className={styles["controls"]}>
      <Attach />
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
      <Segmented
        label="Mode"
        value={mode}
        options={[
          { id: "chat", text: "Chat", disabled: template === null, hint: TEMPLATE_HINTS[template ?? "none"] },
          { id: "completion", text: "Text", hint: "Continues your text" },
        ]}
        onChange={setMode}
      />
      <SendButton />
    </div>
  );
}

function SendButton(): ReactNode {
  const isReady = useRun((s) => s.draft.trim() !== "" || s.attachments.length > 0);
  const send = useRun((s) => s.send);
  const stop = useRun((s) => s.stop);
  const running = useRun((s) => s.running);
  return running === null ? (
    <Button small look="primary" disabled={!isReady} onClick={() => void send()}>
      Send
    </Button>
  ) : (
    <Button small look="primary" title="Esc" onClick={stop} disabled={running.stopping}>
      {running.stopping ? "Stopping" : "Stop"}
    </Button>
  );
}

function Attach(): ReactNode {
  const attach = useRun((s) => s.attach);
  const picker = useFilePicker({
    label: "Text files to attach",
    multiple: true,
    onFiles: (files) => void attach(files),
  });
  return (
    <>
      {picker.input}
      <IconButton label="Attach text files" onClick={picker.open}>
        <Paperclip size={14} aria-hidden="true" />
      </IconButton>
    </>
  );
}

/** What the window opens, also when it is dropped here. */
const OPENS = /\.(?:gguf|safetensors|rlxsession)$/iu;

/** Files that are dropped on the composer go with the question; models and sessions are opened, as anywhere else. */
function useFileDrop(): {
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: () => void;
  readonly onDrop: (event: DragEvent) => void;
  readonly "data-dropping": boolean;
} {
  const attach = useRun((s) => s.attach);
  const [over, setOver] = useState(false);
  return {
    onDragOver: (event) => setOver(event.dataTransfer.types.includes("Files")),
    onDragLeave: () => setOver(false),
    onDrop(event) {
      setOver(false);
      const files = [...event.dataTransfer.files];
      const isFolder = [...event.dataTransfer.items].some((item) => item.webkitGetAsEntry()?.isDirectory === true);
      if (files.length === 0 || isFolder || files.some(({ name }) => OPENS.test(name))) return;
      // The window sees that it was taken.
      event.preventDefault();
      void attach(files);
    },
    "data-dropping": over,
  };
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
