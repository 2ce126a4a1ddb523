/** What every editor shares: how it looks, when it is loaded, and where it stands. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type * as Module from "./setup.ts";
import { onThemeChange } from "../theme.ts";
import { Progress } from "../states.tsx";
import styles from "./TextView.module.css";

export type Setup = typeof Module;

export const OPTIONS = {
  // A text area carries our label; the newer edit context has none.
  editContext: false,
  minimap: { enabled: false },
  fontSize: 12,
  lineHeight: 19,
  scrollBeyondLastLine: false,
  automaticLayout: true,
  renderLineHighlight: "line",
  renderWhitespace: "none",
  // Dimmed, its number could not be read.
  renderFinalNewline: "on",
  occurrencesHighlight: "off",
  stickyScroll: { enabled: false },
  fixedOverflowWidgets: true,
  bracketPairColorization: { enabled: false },
  padding: { top: 8, bottom: 8 },
  // Room for the signs of a comparison beside the numbers, and bars as thin as the window's own.
  lineDecorationsWidth: 18,
  scrollbar: { verticalScrollbarSize: 10, horizontalScrollbarSize: 10, useShadows: false },
  overviewRulerBorder: false,
  unicodeHighlight: { ambiguousCharacters: false },
} as const;

export const fontFamily = (): string => getComputedStyle(document.documentElement).getPropertyValue("--mono");

/** The editor module, once it has arrived; its theme follows ours. */
export function useSetup(): Setup | null {
  const [setup, setSetup] = useState<Setup | null>(null);
  useEffect(() => {
    let live = true;
    void import("./setup.ts").then((loaded) => {
      loaded.defineTheme();
      if (live) setSetup(loaded);
    });
    return () => {
      live = false;
    };
  }, []);
  useEffect(() => (setup === null ? undefined : onThemeChange(setup.defineTheme)), [setup]);
  return setup;
}

export function openFind(editor: ReturnType<Setup["monaco"]["editor"]["create"]>): void {
  editor.focus();
  editor.trigger("window", "actions.find", null);
}

export function Host({
  host,
  waiting,
}: {
  readonly host: React.RefObject<HTMLDivElement | null>;
  readonly waiting: boolean;
}): ReactNode {
  return (
    <div className={styles["view"]}>
      <div ref={host} className={styles["host"]} />
      {waiting ? (
        <div className={styles["waiting"]}>
          <Progress sentence="Loading the editor" fraction={null} />
        </div>
      ) : null}
    </div>
  );
}
