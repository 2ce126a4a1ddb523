/** Find in the view that is shown, for tabs without a search of their own: Enter goes on, Shift+Enter back, Escape ends it. */
import { ChevronDown, ChevronUp, X } from "lucide-react";
import type { ReactNode } from "react";
import { useCallback, useEffect, useRef, useState } from "react";
import { IconButton } from "../ui/Button.tsx";
import { SearchField } from "../ui/fields.tsx";
import { count } from "../ui/format.ts";
import { focusView } from "./commands.ts";
import type { FoundText } from "./findInView.ts";
import { findIn, markFound, NOTHING_FOUND, showCurrent, unmarkFound } from "./findInView.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function FindBar(): ReactNode {
  const shown = useWorkbench((state) => state.findShown);
  const tab = useWorkbench((state) => state.tab);
  // Each view is searched anew.
  return shown ? <Bar key={tab} /> : null;
}

function Bar(): ReactNode {
  const show = useWorkbench((state) => state.showFind);
  const words = useWorkbench((state) => state.findWords);
  const setWords = useWorkbench((state) => state.setFindWords);
  const at = useWorkbench((state) => state.findAt);
  const step = useWorkbench((state) => state.stepFind);
  const found = useFound(words);
  const total = found.ranges.length;
  const now = total === 0 ? 0 : ((at % total) + total) % total;
  useEffect(() => markFound(found, now), [found, now]);
  // Not when the view changes by itself: it stays where a person scrolled it.
  const isFound = total > 0;
  useEffect(() => {
    if (isFound) showCurrent();
  }, [now, words, isFound]);
  useEffect(() => unmarkFound, []);
  const close = (): void => {
    show(false);
    requestAnimationFrame(focusView);
  };
  return (
    <div className={styles["find"]} role="search">
      <SearchField
        id="view-search"
        label="Find in this view"
        placeholder="Find in this view…"
        value={words}
        onChange={setWords}
        onEnter={(backwards) => step(backwards ? -1 : 1)}
        onEscape={close}
      />
      <span role="status">
        {words === "" ? "" : total === 0 ? "not found" : `${count(now + 1)} of ${count(total)}${found.more ? "+" : ""}`}
      </span>
      <IconButton label="Previous place" disabled={total === 0} onClick={() => step(-1)}>
        <ChevronUp size={14} aria-hidden="true" />
      </IconButton>
      <IconButton label="Next place" disabled={total === 0} onClick={() => step(1)}>
        <ChevronDown size={14} aria-hidden="true" />
      </IconButton>
      <IconButton label="End the search" onClick={close}>
        <X size={14} aria-hidden="true" />
      </IconButton>
    </div>
  );
}

/** How long a view may change before it is searched again. */
const SETTLED_MS = 150;

/** What stands in the view, also after it changed. */
function useFound(words: string): FoundText {
  const [found, setFound] = useState(NOTHING_FOUND);
  const look = useCallback(() => {
    const view = document.getElementById("view");
    setFound(view === null ? NOTHING_FOUND : findIn(view, words));
  }, [words]);
  const timer = useRef(0);
  useEffect(() => {
    const view = document.getElementById("view");
    look();
    if (view === null) return undefined;
    const changes = new MutationObserver(() => {
      clearTimeout(timer.current);
      timer.current = window.setTimeout(look, SETTLED_MS);
    });
    changes.observe(view, { subtree: true, childList: true, characterData: true });
    return () => {
      clearTimeout(timer.current);
      changes.disconnect();
    };
  }, [look]);
  return found;
}
