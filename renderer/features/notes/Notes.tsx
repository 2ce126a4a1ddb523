/** The notes of a model, folded at the foot of the navigator while there are none. */
import type { ReactNode } from "react";
import { sliceHook } from "../../session/context.tsx";
import styles from "./Notes.module.css";
import type { NotesSlice } from "./slice.ts";

const useNotes = sliceHook<NotesSlice>();

export function Notes(): ReactNode {
  const notes = useNotes((state) => state.notes);
  const setNotes = useNotes((state) => state.setNotes);
  return (
    <details className={styles["notes"]} open={notes !== "" ? true : undefined}>
      <summary>Notes</summary>
      <textarea
        aria-label="Notes about this model"
        placeholder="Kept with the session"
        rows={3}
        value={notes}
        onChange={(event) => setNotes(event.target.value)}
      />
    </details>
  );
}
