/** An error in plain words: what failed, its code, what to do next, and the details to copy. */
import type { ReactNode } from "react";
import { Button } from "./Button.tsx";
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

export function ErrorNote({ title, error, onRetry, children }: ErrorNoteProps): ReactNode {
  return (
    <div className={styles["note"]} role="alert">
      <div className={styles["head"]}>
        <strong>{title}</strong>
        <span className={styles["code"]}>{error.code}</span>
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
