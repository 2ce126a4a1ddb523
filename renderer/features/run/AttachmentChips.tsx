/** Attached files as chips: name and size; before they are sent, with a way to take them back. */
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { bytes as sizeText } from "../../ui/format.ts";
import type { Attachment } from "./attachments.ts";
import styles from "./Composer.module.css";

export function AttachmentChips({
  attachments,
  onRemove,
}: {
  readonly attachments: readonly Attachment[];
  readonly onRemove?: (name: string) => void;
}): ReactNode {
  if (attachments.length === 0) return null;
  return (
    <ul className={styles["chips"]} aria-label="Attached files">
      {attachments.map(({ name, bytes }) => (
        <li key={name} className={styles["chip"]} title={`${name}, ${sizeText(bytes)}`}>
          <span className={styles["chipName"]}>{name}</span>
          <em>{sizeText(bytes)}</em>
          {onRemove === undefined ? null : (
            <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(name)}>
              <X size={12} aria-hidden="true" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
