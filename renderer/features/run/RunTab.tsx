/** The run tab: chat with the file's own template, or plain completion; for a demo graph, one run through its segments. */
import { SquarePen } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { current } from "../../session/async.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { plainMessage } from "../../ui/ErrorNote.tsx";
import { ChoiceField, NumberField } from "../../ui/fields.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import { Empty } from "../../ui/states.tsx";
import { AnswerView } from "./AnswerView.tsx";
import { HybridRun } from "./HybridRun.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

export function RunTab(): ReactNode {
  const overview = useRun((s) => current(s.model));
  if (overview === null) return null;
  if (!overview.canRun.ok)
    return (
      <Empty title="This cannot be run here">
        {overview.canRun.sentence} {overview.canRun.hint ?? ""}
      </Empty>
    );
  return overview.kind === "demo-graph" ? <HybridRun /> : <Conversation />;
}

function Conversation(): ReactNode {
  const turns = useRun((s) => s.turns);
  const template = useRun((s) => s.template);
  const loadTemplate = useRun((s) => s.loadTemplate);
  const mode = useRun((s) => s.runMode);
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (template.kind === "idle") void loadTemplate();
  }, [template.kind, loadTemplate]);
  // New words pull the view down only for those who are at the end already.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [turns]);
  return (
    <div className={styles["tab"]}>
      <div
        ref={scroller}
        className={styles["turns"]}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
          (atEnd.current = scrollTop + clientHeight > scrollHeight - 40)
        }
      >
        {turns.length === 0 ? <Beginning mode={mode} /> : turns.map((turn) => <TurnView key={turn.id} id={turn.id} />)}
      </div>
      <Composer />
    </div>
  );
}

function Beginning({ mode }: { readonly mode: "chat" | "completion" }): ReactNode {
  const template = useRun((s) => current(s.template));
  const failed = useRun((s) => (s.template.kind === "failed" ? s.template.error : null));
  return (
    <Empty title={mode === "chat" ? "Ask it something" : "Give it a beginning"}>
      {failed !== null
        ? `The file’s chat template cannot be used: ${plainMessage(failed.message)}`
        : (template?.sentence ?? "")}
    </Empty>
  );
}

function TurnView({ id }: { readonly id: number }): ReactNode {
  const turn = useRun((s) => s.turns.find((each) => each.id === id) ?? null);
  const mode = useRun((s) => s.runMode);
  if (turn === null) return null;
  return (
    <article className={styles["turn"]} aria-label={`Turn ${id}`}>
      {mode === "chat" ? (
        <div className={styles["you"]}>{turn.prompt}</div>
      ) : (
        <div className={styles["beginning"]}>{turn.prompt}</div>
      )}
      <AnswerView id={turn.id} answer={turn.answer} />
    </article>
  );
}

function Composer(): ReactNode {
  const draft = useRun((s) => s.draft);
  const setDraft = useRun((s) => s.setDraft);
  const send = useRun((s) => s.send);
  const stop = useRun((s) => s.stop);
  const running = useRun((s) => s.running);
  const mode = useRun((s) => s.runMode);
  const setMode = useRun((s) => s.setRunMode);
  const hasTemplate = useRun((s) => current(s.template)?.present === true);
  const hasTurns = useRun((s) => s.turns.length > 0);
  const clear = useRun((s) => s.clearTurns);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.metaKey || event.ctrlKey || event.nativeEvent.isComposing)
      return;
    event.preventDefault();
    void send();
  };
  return (
    <div className={styles["composerRoom"]}>
      <div className={styles["composer"]}>
        <textarea
          id="composer"
          aria-label={mode === "chat" ? "Your message" : "The text to go on from"}
          placeholder={mode === "chat" ? "Ask something…" : "Once upon a time…"}
          rows={Math.min(8, Math.max(1, draft.split("\n").length))}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles["controls"]}>
          <Parameters />
          <span className={styles["space"]} />
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
                disabled: !hasTemplate,
                hint: hasTemplate ? "With the file’s own template" : "This file has no chat template",
              },
              { id: "completion", text: "Text", hint: "Goes on from what you write" },
            ]}
            onChange={setMode}
          />
          {running === null ? (
            <Button small look="primary" disabled={draft.trim() === ""} onClick={() => void send()}>
              Send
            </Button>
          ) : (
            <Button small look="primary" onClick={stop} disabled={running.stopping}>
              {running.stopping ? "Stopping" : "Stop"}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}

function Parameters(): ReactNode {
  const p = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const context = useRun((s) => current(s.model)?.context.trained ?? null);
  const runnable = (devices ?? []).filter(({ available }) => available);
  return (
    <>
      <NumberField
        small
        label="Temperature"
        value={p.temperature}
        min={0}
        max={5}
        step={0.1}
        digits={3}
        onChange={(temperature) => set({ temperature })}
      />
      <Popover small label="Sampling parameters" width={300} trigger={<span>More</span>}>
        <div className={styles["form"]}>
          <NumberField label="Top-p" value={p.topP} min={0} max={1} step={0.05} onChange={(topP) => set({ topP })} />
          <NumberField
            label="Top-k"
            value={p.topK}
            min={0}
            max={1000}
            onChange={(topK) => Number.isInteger(topK) && set({ topK })}
          />
          <NumberField label="Min-p" value={p.minP} min={0} max={1} step={0.01} onChange={(minP) => set({ minP })} />
          <NumberField
            label="Repetition penalty"
            value={p.repeatPenalty}
            min={0.5}
            max={2}
            step={0.05}
            onChange={(repeatPenalty) => set({ repeatPenalty })}
          />
          <NumberField
            label="Most tokens"
            value={p.maxTokens}
            min={1}
            max={context ?? 1_048_576}
            digits={7}
            onChange={(maxTokens) => Number.isInteger(maxTokens) && set({ maxTokens })}
          />
          {runnable.length > 1 ? (
            <ChoiceField
              stacked
              label="Runs on"
              value={p.device}
              options={runnable.map(({ id, title }) => ({ id, title }))}
              hint={runnable.find(({ id }) => id === p.device)?.sentence}
              onChange={(id) => {
                const device = runnable.find((each) => each.id === id)?.id;
                if (device !== undefined) set({ device });
              }}
            />
          ) : null}
          <label className={styles["area"]}>
            <span>System message</span>
            <textarea rows={2} value={p.system} onChange={(event) => set({ system: event.target.value })} />
          </label>
          <label className={styles["area"]}>
            <span>Stop at, one text a line</span>
            <textarea rows={2} value={p.stop} onChange={(event) => set({ stop: event.target.value })} />
          </label>
        </div>
      </Popover>
      <SeedField />
    </>
  );
}

function SeedField(): ReactNode {
  const seed = useRun((s) => s.parameters.seed);
  const set = useRun((s) => s.setParameters);
  return (
    <label className={styles["seed"]} title="Empty: a fresh seed every time, shown with the answer">
      <span>Seed</span>
      <input
        inputMode="numeric"
        placeholder="fresh"
        value={seed ?? ""}
        onChange={(event) => {
          const text = event.target.value.trim();
          const number = Number(text);
          if (text === "") set({ seed: null });
          else if (Number.isInteger(number) && number >= 0 && number <= 4_294_967_295) set({ seed: number });
        }}
      />
    </label>
  );
}
