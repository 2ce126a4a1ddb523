/** A choice among few: one radio group, arrow keys move. */
import type { KeyboardEvent, ReactNode } from "react";
import styles from "./Segmented.module.css";

export interface Option<T extends string> {
  readonly id: T;
  readonly text: string;
  readonly hint?: string;
  readonly disabled?: boolean;
}

export interface SegmentedProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly onChange: (value: T) => void;
}

export function Segmented<T extends string>({ label, value, options, onChange }: SegmentedProps<T>): ReactNode {
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step =
      event.key === "ArrowRight" || event.key === "ArrowDown"
        ? 1
        : event.key === "ArrowLeft" || event.key === "ArrowUp"
          ? -1
          : 0;
    if (step === 0) return;
    event.preventDefault();
    const usable = options.filter(({ disabled }) => disabled !== true);
    const next = usable[(usable.findIndex(({ id }) => id === value) + step + usable.length) % usable.length];
    if (next === undefined) return;
    onChange(next.id);
    event.currentTarget.querySelector<HTMLElement>(`[data-id="${next.id}"]`)?.focus();
  };
  return (
    <div className={styles["group"]} role="radiogroup" aria-label={label} onKeyDown={move}>
      {options.map(({ id, text, hint, disabled }) => (
        <button
          key={id}
          type="button"
          role="radio"
          className={styles["item"]}
          data-id={id}
          data-text={text}
          aria-checked={id === value}
          tabIndex={id === value ? 0 : -1}
          disabled={disabled}
          title={hint}
          onClick={() => onChange(id)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
