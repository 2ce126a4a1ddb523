/** A sentence that explains a control: beside the pointer or the focus, and read out with the control. */
import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import styles from "./Hint.module.css";

/** Waits a little: a hand that only passes asks nothing. */
const DELAY_MS = 450;

/** `children`: one element; hovering it, or focusing anything in it, shows the sentence. */
export function Hint({ text, children }: { readonly text: string; readonly children: ReactElement }): ReactNode {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} delay={DELAY_MS} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className={styles["positioner"]}>
          <Tooltip.Popup className={styles["popup"]}>{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
