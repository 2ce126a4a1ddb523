/** A pane that can be made wider or narrower: by its edge, or by the keys on its edge; a double click or Enter puts it back. */
import type { ReactNode, RefObject } from "react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LayoutChangedMeta, PanelImperativeHandle } from "react-resizable-panels";
import { Panel, Separator } from "react-resizable-panels";
import type { Pane } from "./panes.ts";
import { defaultSize, LIMITS, paneKey, storedSize } from "./panes.ts";
import styles from "./Panes.module.css";

export interface PaneControl {
  readonly pane: Pane;
  readonly handle: RefObject<PanelImperativeHandle | null>;
  /** Before anything was chosen, and after a double click. */
  readonly standard: number;
  readonly reset: () => void;
  /** For the group's `onLayoutChanged`: remembers what a person chose, not what a small window forced. */
  readonly remember: (meta: LayoutChangedMeta) => void;
}

export function usePane(pane: Pane): PaneControl {
  const handle = useRef<PanelImperativeHandle | null>(null);
  const [standard, setStandard] = useState(() => defaultSize(pane, innerWidth));
  useEffect(() => {
    // The default follows the window; what a person chose stays, as far as there is room.
    const onResize = (): void => {
      const next = defaultSize(pane, innerWidth);
      setStandard(next);
      if (localStorage.getItem(paneKey(pane)) === null) handle.current?.resize(next);
    };
    addEventListener("resize", onResize);
    return () => removeEventListener("resize", onResize);
  }, [pane]);
  return useMemo(
    () => ({
      pane,
      handle,
      standard,
      reset() {
        localStorage.removeItem(paneKey(pane));
        handle.current?.resize(standard);
      },
      remember({ isUserInteraction }) {
        const size = handle.current?.getSize().inPixels;
        if (isUserInteraction && size !== undefined) localStorage.setItem(paneKey(pane), String(Math.round(size)));
      },
    }),
    [pane, standard],
  );
}

export function Edge({ control, label }: { readonly control: PaneControl; readonly label: string }): ReactNode {
  return (
    <Separator
      id={`edge-${control.pane}`}
      className={styles["edge"]}
      data-axis={control.pane === "log" ? "row" : "column"}
      aria-label={label}
      title="Drag, or use the arrow keys; a double click or Enter resets"
      disableDoubleClick
      onDoubleClick={control.reset}
      onKeyDown={(event) => {
        if (event.key === "Enter") control.reset();
      }}
    />
  );
}

export function SidePane({
  control,
  children,
}: {
  readonly control: PaneControl;
  readonly children: ReactNode;
}): ReactNode {
  const { pane, handle, standard } = control;
  const { least, most } = LIMITS[pane];
  return (
    <Panel
      id={pane}
      className={styles["pane"]}
      defaultSize={storedSize(localStorage.getItem(paneKey(pane)), pane) ?? standard}
      minSize={least}
      maxSize={most}
      groupResizeBehavior="preserve-pixel-size"
      panelRef={handle}
    >
      {children}
    </Panel>
  );
}
