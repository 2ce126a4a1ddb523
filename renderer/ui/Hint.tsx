/** A sentence that explains a control: beside the pointer or the focus, and read out with the control. */
import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import styles from "./Hint.module.css";

/** Waits a little: a hand that only passes asks nothing. */
const DELAY_MS = 450;

/** `children`: one element; hovering it, or focusing anything in it, shows the sentence. */
export interface HintProps {
  readonly text: string;
  readonly children: ReactElement;
  /** In a column of fields "inline-end": above or below, it would cover the next one. */
  readonly side?: "top" | "inline-end";
}

export function Hint({ text, children, side = "top" }: HintProps): ReactNode {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} delay={DELAY_MS} />
      <Tooltip.Portal>
        <Tooltip.Positioner side={side} sideOffset={side === "top" ? 6 : 18} className={styles["positioner"]}>
          <Tooltip.Popup className={styles["popup"]}>{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
