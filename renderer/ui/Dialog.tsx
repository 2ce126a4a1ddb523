/** A modal panel near the top of the window. */
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { useRef, useState } from "react";
import styles from "./Dialog.module.css";

export interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly width?: number;
  /** The title is for screen readers only: the content speaks for itself. */
  readonly quiet?: boolean;
}

export function Dialog({ open, onClose, ...panel }: DialogProps): ReactNode {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles["backdrop"]} />
        <Panel {...panel} />
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

function Panel({
  title,
  children,
  width = 520,
  quiet = false,
}: Pick<DialogProps, "title" | "children" | "width" | "quiet">): ReactNode {
  const popup = useRef<HTMLDivElement>(null);
  // Dialogs open by key, without a button that could have the focus back: it goes to where it was.
  const [before] = useState(() => document.activeElement);
  const giveBack = (): HTMLElement | boolean => {
    const active = document.activeElement;
    const isTaken = active !== null && active !== document.body && popup.current?.contains(active) !== true;
    if (isTaken) return false;
    return before instanceof HTMLElement && before.isConnected ? before : true;
  };
  return (
    <BaseDialog.Popup ref={popup} finalFocus={giveBack} className={styles["popup"]} style={{ width }}>
      <BaseDialog.Title className={quiet ? "visually-hidden" : styles["title"]}>{title}</BaseDialog.Title>
      {children}
      {/* The last one in order: the focus goes to the content first. */}
      {quiet ? null : (
        <BaseDialog.Close className={styles["close"]} aria-label="Close" title="Close, Esc">
          ×
        </BaseDialog.Close>
      )}
    </BaseDialog.Popup>
  );
}
