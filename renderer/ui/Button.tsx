/**
 * Buttons: plain, one primary a card, ghost for bars, icon-only with a label for screen readers.
 */
import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx.ts";
import styles from "./Button.module.css";

export interface ButtonProps extends Omit<ComponentProps<"button">, "className" | "type"> {
  readonly look?: "plain" | "primary" | "ghost";
  readonly small?: boolean;
}

export function Button({ look = "plain", small = false, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type="button"
      className={cx(styles["button"], look !== "plain" && styles[look], small && styles["small"])}
    />
  );
}

export interface IconButtonProps extends Omit<ComponentProps<"button">, "className" | "type" | "aria-label" | "title"> {
  readonly label: string;
}

export function IconButton({ label, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type="button"
      aria-label={label}
      title={label}
      className={cx(styles["button"], styles["ghost"], styles["icon"])}
    />
  );
}
