/** The text of the graph: written, read as it is written, mended, and used. */
import type { ReactNode } from "react";
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { StoreApi } from "zustand";
import { current } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import { useStoreApi } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count } from "../../ui/format.ts";
import { TextEditor } from "../../ui/monaco/TextEditor.tsx";
import { saveText } from "../../ui/saveText.ts";
import { Progress } from "../../ui/states.tsx";
import { isThereAlready } from "../../writing/writing.ts";
import { textKnowledge } from "./knowledge.ts";
import { Problems } from "./Problems.tsx";
import type { OpenText, TextSlice } from "./slice.ts";
import { isUnsaved, quietFor } from "./slice.ts";
import { useText } from "./useText.ts";
import styles from "./Text.module.css";

const NO_MARKS: readonly never[] = [];

export function TextTab(): ReactNode {
  const state = useText((s) => s.text);
  const load = useText((s) => s.loadText);
  const loadOperations = useText((s) => s.loadOperations);
  useEffect(() => void loadOperations(), [loadOperations]);
  if (state.kind === "failed")
    return <ErrorNote title="The text could not be read" error={state.error} onRetry={() => void load()} />;
  const source = current(state);
  return source === null ? <Progress sentence="Reading the text" fraction={null} /> : <Writing source={source} />;
}

function Writing({ source }: { readonly source: OpenText }): ReactNode {
  const api: StoreApi<SessionState & TextSlice> = useStoreApi<SessionState & TextSlice>();
  const draft = useText((s) => s.textDraft);
  const marks = useText((s) => current(s.textReport)?.diagnostics ?? NO_MARKS);
  const place = useText((s) => s.textPlace);
  const setDraft = useText((s) => s.setTextDraft);
  const knowledge = useMemo(
    () =>
      textKnowledge({
        report: () => current(api.getState().textReport),
        operations: () => current(api.getState().operations) ?? [],
        format: (text) => api.getState().formatTextNow(text),
      }),
    [api],
  );
  const flush = useRef<(() => void) | null>(null);
  const takeFlush = useCallback((next: (() => void) | null) => (flush.current = next), []);
  return (
    <div className={styles["tab"]}>
      <div>
        <Bar source={source} flush={() => flush.current?.()} />
        <NotSaved flush={() => flush.current?.()} />
      </div>
      <TextEditor
        label={`Text of ${source.name}`}
        text={draft ?? source.text}
        marks={marks}
        knowledge={knowledge}
        quiet={quietFor}
        onText={setDraft}
        onFlush={takeFlush}
        goTo={place}
      />
      <Problems />
    </div>
  );
}

interface BarProps {
  readonly source: OpenText;
  /** Takes what is written at once. */
  readonly flush: () => void;
}

function Bar({ source: { name, file }, flush }: BarProps): ReactNode {
  const api = useStoreApi<SessionState & TextSlice>();
  const isChanged = useText((s) => s.textDraft !== null);
  const revert = useText((s) => s.revertText);
  const setTab = useText((s) => s.setTab);
  const canRun = useText((s) => current(s.model)?.canRun.ok === true);
  const written = (): string => {
    flush();
    const { textDraft, text } = api.getState();
    return textDraft ?? current(text)?.text ?? "";
  };
  const use = async (): Promise<boolean> => {
    flush();
    if (api.getState().textDraft !== null) await api.getState().applyText();
    return current(api.getState().model)?.canGraph.ok === true;
  };
  const format = async (): Promise<void> => {
    const text = await api.getState().formatTextNow(written());
    if (text !== null) api.getState().setTextDraft(text);
    else await api.getState().readTextNow();
  };
  return (
    <div className={styles["bar"]} role="toolbar" aria-label="Text">
      <Button look="primary" disabled={!isChanged} onClick={() => void use()}>
        Use this text
      </Button>
      <Button disabled={!canRun && !isChanged} onClick={() => void use().then((can) => can && setTab("run"))}>
        Run it
      </Button>
      <Button onClick={() => void format()}>Format</Button>
      {file === null ? (
        <Button title={`Save it as ${name}`} onClick={() => saveText(name, written(), "text/plain")}>
          Save…
        </Button>
      ) : (
        <FileButtons path={file.path} flush={flush} />
      )}
      <Button look="ghost" disabled={!isChanged} onClick={revert}>
        Discard
      </Button>
      <Told />
    </div>
  );
}

/** Of a text that was opened by its path: it goes back there. */
function FileButtons({ path, flush }: { readonly path: string; readonly flush: () => void }): ReactNode {
  const isEdited = useText(isUnsaved);
  const save = useText((s) => s.saveTextFile);
  const reload = useText((s) => s.reloadText);
  return (
    <>
      <Button
        disabled={!isEdited}
        title={`Writes it to ${path}`}
        onClick={() => {
          flush();
          void save(false);
        }}
      >
        Save
      </Button>
      <Button look="ghost" title={`Opens ${path} again, as it is now; changes here go`} onClick={() => void reload()}>
        Reload
      </Button>
    </>
  );
}

function NotSaved({ flush }: Pick<BarProps, "flush">): ReactNode {
  const error = useText((s) => s.textNotSaved);
  const save = useText((s) => s.saveTextFile);
  if (error === null) return null;
  return (
    <div className={styles["notSaved"]}>
      <ErrorNote title="The text was not saved" error={error} />
      {isThereAlready(error) ? (
        <Button
          onClick={() => {
            flush();
            void save(true);
          }}
        >
          Write over it
        </Button>
      ) : null}
    </div>
  );
}

/** What the text is as it is written, in a few words. */
function Told(): ReactNode {
  const state = useText((s) => s.textReport);
  const isChanged = useText((s) => s.textDraft !== null);
  const isEdited = useText(isUnsaved);
  const readNow = useText((s) => s.readTextNow);
  const report = current(state);
  if (state.kind === "idle")
    return (
      <Button small onClick={() => void readNow()}>
        Check
      </Button>
    );
  const words =
    state.kind === "failed"
      ? "not read"
      : report === null
        ? "reading"
        : report.graph === null
          ? `${count(report.diagnostics.length)} ${report.diagnostics.length === 1 ? "fault" : "faults"}`
          : `sound, ${count(report.graph.operations)} ${report.graph.operations === 1 ? "operation" : "operations"}`;
  return (
    <span className={styles["told"]} role="status">
      {words}
      {isChanged ? ", not used yet" : ""}
      {isEdited ? ", not saved" : ""}
    </span>
  );
}
