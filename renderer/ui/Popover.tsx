/** A panel that hangs from a button: focus goes in, Escape and a click outside close it. */
import { Popover as BasePopover } from "@base-ui/react/popover";
import type { ReactNode } from "react";
import { useState } from "react";
import { cx } from "./cx.ts";
import styles from "./Popover.module.css";

export interface PopoverProps {
  readonly label: string;
  readonly trigger: ReactNode;
  /** A function is told how to close the panel: after a choice, it is in the way. */
  readonly children: ReactNode | ((close: () => void) => ReactNode);
  readonly width?: number;
  readonly small?: boolean;
  /** Keeps its words; its neighbours give way. */
  readonly firm?: boolean;
}

export function Popover({
  label,
  trigger,
  children,
  width = 320,
  small = false,
  firm = false,
}: PopoverProps): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <BasePopover.Root open={open} onOpenChange={setOpen}>
      <BasePopover.Trigger className={cx(styles["pick"], small && styles["small"], firm && styles["firm"])}>
        <span className="visually-hidden">{label}</span>
        {trigger}
        <i className={styles["chevron"]} aria-hidden="true" />
      </BasePopover.Trigger>
      <BasePopover.Portal>
        <BasePopover.Positioner sideOffset={6} align="start" className={styles["positioner"]}>
          <BasePopover.Popup className={styles["popup"]} style={{ width }} aria-label={label}>
            {typeof children === "function" ? children(() => setOpen(false)) : children}
          </BasePopover.Popup>
        </BasePopover.Positioner>
      </BasePopover.Portal>
    </BasePopover.Root>
  );
}
