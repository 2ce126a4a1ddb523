/** What is wrong with the text: each fault with its place, and what to write instead. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { useText } from "./useText.ts";
import styles from "./Text.module.css";

export function Problems(): ReactNode {
  const state = useText((s) => s.textReport);
  const goTo = useText((s) => s.goToText);
  const mend = useText((s) => s.mendText);
  if (state.kind === "failed") return <ErrorNote title="The text could not be read" error={state.error} />;
  const faults = current(state)?.diagnostics ?? [];
  if (faults.length === 0) return null;
  return (
    <ul className={styles["problems"]} aria-label="What is wrong">
      {faults.map(({ code, message, line, column, start, fix }, i) => (
        <li key={i}>
          <button type="button" onClick={() => goTo(start)} title={code}>
            <b>
              {line}:{column}
            </b>{" "}
            {message}
          </button>
          {fix === null ? null : (
            <Button small onClick={() => mend(fix)}>
              {fix.title.charAt(0).toUpperCase() + fix.title.slice(1)}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
