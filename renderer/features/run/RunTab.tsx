/** The run tab: chat with the file's own template, or plain completion; for a demo graph, one run through its segments. */
import type { ReactNode } from "react";
import { useEffect, useLayoutEffect, useRef } from "react";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import { current } from "../../session/async.ts";
import { CannotHere } from "../../ui/CannotHere.tsx";
import { plainMessage } from "../../ui/ErrorNote.tsx";
import { FigureText } from "../../ui/marks.tsx";
import { Empty } from "../../ui/states.tsx";
import { AnswerView } from "./AnswerView.tsx";
import { Composer } from "./Composer.tsx";
import { HybridRun } from "./HybridRun.tsx";
import { GivenResults } from "./ReplyView.tsx";
import { PairTurns } from "./PairView.tsx";
import { RunBar } from "./RunBar.tsx";
import { RunHistory } from "./RunHistory.tsx";
import { useRun } from "./useRun.ts";
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
  const paired = useRun((s) => s.beside !== null);
  const pairs = useRun((s) => s.pairTurns);
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (template.kind === "idle") void loadTemplate();
  }, [template.kind, loadTemplate]);
  // New words scroll the view only if it is already at the end.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [turns, pairs, paired, historyShown]);
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
          {paired ? (
            pairs.length === 0 ? (
              <PairBeginning />
            ) : (
              <PairTurns />
            )
          ) : turns.length === 0 ? (
            <Beginning mode={mode} />
          ) : (
            turns.map((turn) => <TurnView key={turn.id} id={turn.id} />)
          )}
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

function PairBeginning(): ReactNode {
  return (
    <Empty title="One question, two devices">
      Both read the same prompt and draw with the same seed. The first token that differs is marked in both; each answer
      goes into the history. A question stands for itself: what was said before is not sent.
    </Empty>
  );
}

function TurnView({ id }: { readonly id: number }): ReactNode {
  const turn = useRun((s) => s.turns.find((each) => each.id === id) ?? null);
  const mode = useRun((s) => s.runMode);
  if (turn === null) return null;
  return (
    <article className={styles["turn"]} aria-label={`Turn ${id}`}>
      {turn.results.length > 0 ? (
        <GivenResults results={turn.results} />
      ) : mode === "chat" ? (
        <div className={styles["you"]}>{turn.prompt}</div>
      ) : (
        <div className={styles["beginning"]}>{turn.prompt}</div>
      )}
      <AnswerView id={turn.id} answer={turn.answer} />
    </article>
  );
}
