/** An error in plain words: what failed, its code, what to do next, and the details to copy. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { Button, IconButton } from "./Button.tsx";
import { CopyButton } from "./CopyButton.tsx";
import styles from "./ErrorNote.module.css";

/** The wire form of an error, as far as it is shown. */
export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
}

export interface ErrorNoteProps {
  readonly title: string;
  readonly error: ShownError;
  readonly onRetry?: (() => void) | undefined;
  /** Takes the note away, as Escape does. */
  readonly onClose?: (() => void) | undefined;
  readonly children?: ReactNode;
}

/** "[gguf] magic: got PK" → "Magic: got PK": the bracket is for logs. */
export function plainMessage(message: string): string {
  const text = message.replace(/^\[[^\]]+\]\s*/, "");
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
}

export function errorDetails(title: string, error: ShownError): string {
  return [
    title,
    `code: ${error.code}`,
    `message: ${error.message}`,
    error.hint === undefined ? "" : `hint: ${error.hint}`,
    error.details === undefined ? "" : `details: ${JSON.stringify(error.details, null, 2)}`,
  ]
    .filter((line) => line !== "")
    .join("\n");
}

/** A file that is no model, or one of a kind that is not known, stays so. */
const LASTING = /^(?:INPUT_NOT_GGUF|INPUT_MALFORMED|INPUT_TEMPLATE|UNSUPPORTED_)/u;
export const canHelpAgain = ({ code }: Pick<ShownError, "code">): boolean => !LASTING.test(code);

export function ErrorNote({ title, error, onRetry, onClose, children }: ErrorNoteProps): ReactNode {
  useEffect(() => {
    if (onClose === undefined) return;
    const close = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented) onClose();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [onClose]);
  return (
    <div className={styles["note"]} role="alert">
      <div className={styles["head"]}>
        <strong>{title}</strong>
        <span className={styles["code"]}>{error.code}</span>
        {onClose === undefined ? null : (
          <IconButton label="Dismiss" onClick={onClose}>
            ×
          </IconButton>
        )}
      </div>
      <p>{plainMessage(error.message)}</p>
      {error.hint === undefined ? null : <p className={styles["hint"]}>{error.hint}</p>}
      <div className={styles["actions"]}>
        {onRetry === undefined ? null : (
          <Button small onClick={onRetry}>
            Try again
          </Button>
        )}
        {children}
        <CopyButton label="Copy details" text={() => errorDetails(title, error)} />
      </div>
    </div>
  );
}
