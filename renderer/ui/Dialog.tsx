/** A modal panel near the top of the window. */
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
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

export function Dialog({ title, open, onClose, children, width = 520, quiet = false }: DialogProps): ReactNode {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles["backdrop"]} />
        <BaseDialog.Popup className={styles["popup"]} style={{ width }}>
          <BaseDialog.Title className={quiet ? "visually-hidden" : styles["title"]}>{title}</BaseDialog.Title>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
