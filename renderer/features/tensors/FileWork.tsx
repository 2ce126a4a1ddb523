/** What reads whole files: how far it is, and its result until that is closed. The check and the comparison are told the same way. */
import type { ReactNode } from "react";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { bytes, count, plural } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import styles from "./Tensors.module.css";

export interface FileProgress {
  readonly tensor: string;
  readonly done: number;
  readonly of: number;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface FileWorkProps {
  readonly title: string;
  /** null: it has not begun to read. */
  readonly progress: FileProgress | null;
  readonly since: number;
  readonly onStop: () => void;
  readonly children?: ReactNode;
}

export function FileWork({ title, progress, since, onStop, children }: FileWorkProps): ReactNode {
  return (
    <Card
      title={title}
      aside={
        <>
          {progress === null ? null : `${bytes(progress.doneBytes)} of ${bytes(progress.totalBytes)}`}
          <Button small onClick={onStop}>
            Cancel
          </Button>
        </>
      }
      className={styles["check"]}
    >
      <Progress
        sentence={
          progress === null
            ? "Starting"
            : `${progress.tensor}, ${count(progress.done)} of ${plural(progress.of, "tensor")}`
        }
        fraction={progress === null ? null : progress.doneBytes / Math.max(1, progress.totalBytes)}
        since={since}
      />
      {children}
    </Card>
  );
}

export interface FileResultProps {
  readonly title: string;
  /** "2.8 MB in 0.2 s"; null where it was cancelled. */
  readonly took: ReactNode;
  readonly closeLabel: string;
  readonly onClose: () => void;
  readonly sentence: string;
  readonly children: ReactNode;
}

export function FileResult({ title, took, closeLabel, onClose, sentence, children }: FileResultProps): ReactNode {
  return (
    <Card
      title={title}
      aside={
        <>
          {took}
          <IconButton label={closeLabel} onClick={onClose}>
            ×
          </IconButton>
        </>
      }
      className={styles["check"]}
    >
      <p role="status">{sentence}</p>
      {children}
    </Card>
  );
}
