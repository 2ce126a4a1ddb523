/** The inspector's cards of advice: claim, what it is about, what it gains, and ways to see, apply and measure it. */
import type { ReactNode } from "react";
import type { Advice, AdviceVerdict } from "../../../main/contract/views/advice.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { plural, seconds } from "../../ui/format.ts";
import { FigureText, TruthMark } from "../../ui/marks.tsx";
import { Progress } from "../../ui/states.tsx";
import { current } from "../../session/async.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import type { AdviceSlice, Applied } from "./slice.ts";
import { PAIRS } from "./slice.ts";
import styles from "./Advice.module.css";

const useAdvice = sliceHook<AdviceSlice>();

export interface AdviceLinks {
  /** Selects an op where it can be seen. */
  readonly onOp: (node: number) => void;
  readonly onApply: (advice: Advice) => void;
}

export function AdviceCards({ onOp, onApply }: AdviceLinks): ReactNode {
  const state = useAdvice((slice) => slice.advices);
  const list = current(state);
  const load = useAdvice((slice) => slice.loadAdvices);
  const applied = useAdvice((slice) => slice.applied);
  const undo = useAdvice((slice) => slice.undoAdvice);
  if (state.kind === "idle" && applied === null) return null;
  if (state.kind === "failed")
    return <ErrorNote title="No advice could be found" error={state.error} onRetry={() => void load()} />;
  return (
    <Card
      title="What would make it faster?"
      level={2}
      aside={<TruthMark truth="predicted" />}
      onKeyDown={(event) => {
        if (event.key !== "z" || !(event.metaKey || event.ctrlKey) || event.shiftKey || applied === null) return;
        event.preventDefault();
        undo();
      }}
    >
      {applied === null ? null : <AppliedLine key={applied.title} applied={applied} onUndo={undo} />}
      {list === null ? (
        <Progress sentence="Looking at each rule" fraction={null} />
      ) : (
        <>
          <Note>{list.sentence}</Note>
          <ul className={styles["list"]}>
            {list.advices.map((advice) => (
              <AdviceItem key={advice.rule} advice={advice} onOp={onOp} onApply={onApply} />
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

/** "843 → 511 µs · Undo": what was applied, and the way back. It takes the focus of the button that went with the advice. */
function AppliedLine({ applied, onUndo }: { readonly applied: Applied; readonly onUndo: () => void }): ReactNode {
  const { title, before, after } = applied;
  return (
    <p className={styles["applied"]} role="status">
      <span>
        {title}: <FigureText figure={before} /> → <FigureText figure={after} />
      </span>
      <button type="button" className={styles["link"]} title="Undo (⌘Z or Ctrl+Z here)" autoFocus onClick={onUndo}>
        Undo
      </button>
    </p>
  );
}

function AdviceItem({ advice, onOp, onApply }: AdviceLinks & { readonly advice: Advice }): ReactNode {
  const { rule, title, gain, verdict } = advice;
  const open = useAdvice((slice) => slice.openAdvice === rule);
  const toggle = useAdvice((slice) => slice.toggleAdvice);
  return (
    <li className={styles["item"]}>
      <h3 className={styles["head"]}>
        <button type="button" aria-expanded={open} className={styles["title"]} onClick={() => toggle(rule)}>
          <span className={styles["twist"]} aria-hidden="true">
            {open ? "▾" : "▸"}
          </span>
          <span>{title}</span>
          <em title={`${gain.truth}: ${gain.basis}`}>{gainText(advice)}</em>
        </button>
      </h3>
      {open ? <Opened advice={advice} onOp={onOp} onApply={onApply} /> : null}
      {verdict === null ? null : <Verdict verdict={verdict} />}
    </li>
  );
}

/** "−41 ms" of a step. */
export const gainText = ({ gain }: Pick<Advice, "gain">): string => `−${seconds(gain.value)}`;

function Opened({ advice, onOp, onApply }: AdviceLinks & { readonly advice: Advice }): ReactNode {
  const { claim, ops, gain, before, after, applies, risk } = advice;
  const [first] = ops;
  return (
    <div className={styles["body"]}>
      <p>{claim}</p>
      <dl className={styles["facts"]}>
        <dt>Gain</dt>
        <dd>
          <FigureText figure={gain} range />
        </dd>
        <dt>Step</dt>
        <dd>
          <FigureText figure={before} /> → <FigureText figure={after} />
        </dd>
        {first === undefined ? null : (
          <>
            <dt>About</dt>
            <dd>
              <button type="button" className={styles["link"]} onClick={() => onOp(first)}>
                {plural(ops.length, "op")}
              </button>
            </dd>
          </>
        )}
        <dt>Cost</dt>
        <dd>{risk}</dd>
      </dl>
      <Actions advice={advice} onApply={() => onApply(advice)} />
      <p className={styles["quiet"]}>{applies}</p>
    </div>
  );
}

function Actions({ advice, onApply }: { readonly advice: Advice; readonly onApply: () => void }): ReactNode {
  const { rule, change, canMeasure } = advice;
  const ghost = useSession((state) => state.ghost);
  const preview = useAdvice((slice) => slice.previewAdvice);
  const measure = useAdvice((slice) => slice.measureAdvice);
  const stop = useAdvice((slice) => slice.stopMeasuringAdvice);
  const measuring = useAdvice((slice) => slice.measuringAdvice);
  const unquiet = useAdvice((slice) => slice.unquietAdvice);
  const shown = ghost?.rule === rule ? ghost : null;
  return (
    <>
      <div className={styles["actions"]}>
        {change.kind === "target" ? (
          <Button small onClick={() => void preview(rule)}>
            {shown === null ? "Preview" : "End preview"}
          </Button>
        ) : null}
        <Button small onClick={onApply}>
          Apply
        </Button>
        {measuring?.rule === rule ? (
          <Button small onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button small disabled={!canMeasure.ok || measuring !== null} onClick={() => void measure(rule)}>
            Measure
          </Button>
        )}
      </div>
      {canMeasure.ok ? null : (
        <p className={styles["quiet"]}>
          Not measured here: {canMeasure.sentence} {canMeasure.hint}
        </p>
      )}
      {unquiet?.rule === rule ? (
        <div role="alert">
          <p className={styles["quiet"]}>{unquiet.sentence}. Measured anyway, there is no verdict.</p>
          <Button small onClick={() => void measure(rule, "warn")}>
            Measure anyway
          </Button>
        </div>
      ) : null}
      {measuring?.rule === rule ? (
        <Progress
          sentence={
            measuring.pairs === 0 ? measuring.sentence : `${measuring.sentence}, pair ${measuring.pairs} of ${PAIRS}`
          }
          fraction={measuring.pairs === 0 ? null : measuring.pairs / PAIRS}
        />
      ) : null}
      {shown === null ? null : (
        <table className={styles["rows"]}>
          <tbody>
            {shown.rows.map((row) => (
              <tr key={row.label}>
                <th scope="row">{row.label}</th>
                <td>
                  <FigureText figure={row.before} />
                </td>
                <td>
                  → <FigureText figure={row.after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Verdict({ verdict }: { readonly verdict: AdviceVerdict }): ReactNode {
  return (
    <div
      className={cx(
        styles["verdict"],
        (verdict.outcome === "no-difference" || verdict.outcome === "not-comparable") && styles["refuted"],
      )}
      role="status"
    >
      <TruthMark truth="measured" word="measured here" />
      <p>{verdict.sentence}</p>
      {verdict.notes.map((note) => (
        <p key={note} className={styles["quiet"]}>
          {note}
        </p>
      ))}
    </div>
  );
}
