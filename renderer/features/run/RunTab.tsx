/** The run tab: chat with the file's own template, or plain completion; for a demo graph, one run through its segments. */
import type { ReactNode } from "react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { plainMessage } from "../../ui/ErrorNote.tsx";
import { FigureText } from "../../ui/marks.tsx";
import { Empty } from "../../ui/states.tsx";
import { Composer } from "./Composer.tsx";
import { HybridRun } from "./HybridRun.tsx";
import { ColumnTurns } from "./ColumnsView.tsx";
import { RunBar } from "./RunBar.tsx";
import { RunHistory } from "./RunHistory.tsx";
import { SystemPrompt } from "./SystemPrompt.tsx";
import { TurnView } from "./TurnView.tsx";
import { useRun } from "./useRun.ts";
import turnStyles from "./Turn.module.css";
import styles from "./Run.module.css";

export function RunTab(): ReactNode {
  const overview = useRun((s) => current(s.model));
  const setTab = useRun((s) => s.setTab);
  if (overview === null) return null;
  if (!overview.canRun.ok)
    return <CannotHere title="This cannot be run here" why={overview.canRun} onLocate={() => setTab("overview")} />;
  return overview.kind === "demo-graph" ? <HybridRun /> : <Conversation />;
}

function Conversation(): ReactNode {
  const turns = useRun((s) => s.turns);
  const template = useRun((s) => s.template);
  const loadTemplate = useRun((s) => s.loadTemplate);
  const mode = useRun((s) => s.runMode);
  const historyShown = useRun((s) => s.historyShown);
  const inColumns = useRun((s) => s.beside.length > 0);
  const columnTurns = useRun((s) => s.columnTurns);
  const conversation = useRun((s) => s.conversation.id);
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (template.kind === "idle") void loadTemplate();
  }, [template.kind, loadTemplate]);
  // Another conversation is shown at its end.
  useLayoutEffect(() => {
    atEnd.current = true;
  }, [conversation]);
  // New words scroll the view only if it is already at the end.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [turns, columnTurns, inColumns, conversation, historyShown]);
  return (
    <div className={styles["tab"]}>
      <RunBar />
      <ReferenceBanner />
      {historyShown ? (
        <RunHistory />
      ) : (
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
          <SystemPrompt key={conversation} />
          {inColumns ? (
            columnTurns.length === 0 ? (
              <ColumnsBeginning />
            ) : (
              <ColumnTurns />
            )
          ) : turns.length === 0 ? (
            <Beginning mode={mode} />
          ) : (
            turns.map((turn) => <TurnView key={turn.id} id={turn.id} />)
          )}
          <DeletedTurn />
        </div>
      )}
      <Composer />
    </div>
  );
}

/** Without a native engine answers are slow: the tab says so before a run. */
function ReferenceBanner(): ReactNode {
  const reference = useRun((s) => current(s.model)?.reference ?? null);
  const device = useRun((s) => s.parameters.device);
  if (reference === null || device !== DEFAULT_DEVICE) return null;
  return (
    <p className={styles["reference"]} role="note">
      {reference.sentence} A token takes <FigureText figure={reference.secondsPerToken} range />.
    </p>
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

function ColumnsBeginning(): ReactNode {
  return (
    <Empty title="One question, several columns">
      All read the same prompt and draw with the same seed. The first token that differs is marked; each answer goes
      into the history. A question stands for itself: what was said before is not sent.
    </Empty>
  );
}

/** Until something else happens. */
function DeletedTurn(): ReactNode {
  const isDeleted = useRun((s) => s.deleted?.of === "turn");
  const undo = useRun((s) => s.undoDelete);
  return (
    <div role="status">
      {isDeleted ? (
        <p className={turnStyles["deleted"]}>
          The turn is deleted.
          <Button small onClick={undo}>
            Undo
          </Button>
        </p>
      ) : null}
    </div>
  );
}
