/** Small graphs to start from. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { current } from "../../session/async.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Progress } from "../../ui/states.tsx";
import { useText } from "./useText.ts";
import styles from "./Text.module.css";

export function Gallery({ onOpened }: { readonly onOpened: () => void }): ReactNode {
  const state = useText((s) => s.gallery);
  const load = useText((s) => s.loadGallery);
  const open = useText((s) => s.open);
  const setTab = useText((s) => s.setTab);
  useEffect(() => void load(), [load]);
  if (state.kind === "failed")
    return <ErrorNote title="The graphs could not be listed" error={state.error} onRetry={() => void load()} />;
  const graphs = current(state);
  if (graphs === null) return <Progress sentence="Looking up the graphs" fraction={null} />;
  return (
    <ul className={styles["gallery"]}>
      {graphs.map(({ id, title, sentence, text }) => (
        <li key={id}>
          <button
            type="button"
            onClick={() => {
              onOpened();
              void open({ kind: "text", name: `${id}.rlx`, text }).then(() => setTab("text"));
            }}
          >
            <b>{title}</b>
            <span>{sentence}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
