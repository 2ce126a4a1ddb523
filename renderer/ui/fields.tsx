/** Form fields: a label and its control in one box, or stacked with a sentence below. */
import type { CSSProperties, ReactNode } from "react";
import { useEffect, useState } from "react";
import { cx } from "./cx.ts";
import styles from "./fields.module.css";

export interface NumberFieldProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly digits?: number;
  readonly onChange: (value: number) => void;
  readonly small?: boolean;
}

/** Keeps what is typed until it is a number in range; on leaving, shows what counts. */
export function NumberField({
  label,
  value,
  min,
  max,
  step = 1,
  digits = 5,
  onChange,
  small = false,
}: NumberFieldProps): ReactNode {
  const [draft, setDraft] = useState(String(value));
  useEffect(() => setDraft(String(value)), [value]);
  const take = (text: string): void => {
    setDraft(text);
    const number = Number(text);
    if (text.trim() !== "" && Number.isFinite(number) && number >= min && number <= max) onChange(number);
  };
  return (
    <label className={cx(styles["field"], small && styles["small"])} style={{ "--digits": digits } as CSSProperties}>
      <span>{label}</span>
      <input
        type="number"
        value={draft}
        min={min}
        max={max}
        step={step}
        onChange={(event) => take(event.target.value)}
        onBlur={() => setDraft(String(value))}
      />
    </label>
  );
}

export interface ChoiceOption {
  readonly id: string;
  readonly title: string;
}

export interface ChoiceFieldProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly ChoiceOption[];
  readonly hint?: string | undefined;
  readonly onChange: (id: string) => void;
  readonly stacked?: boolean;
}

export function ChoiceField({ label, value, options, hint, onChange, stacked = false }: ChoiceFieldProps): ReactNode {
  return (
    <label className={stacked ? styles["stacked"] : styles["field"]}>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(({ id, title }) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
      {hint === undefined ? null : <em className={styles["hint"]}>{hint}</em>}
    </label>
  );
}

export interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly onEnter?: (backwards: boolean) => void;
  readonly onEscape?: () => void;
  readonly id?: string;
}

export function SearchField({
  label,
  placeholder,
  value,
  onChange,
  onEnter,
  onEscape,
  id,
}: SearchFieldProps): ReactNode {
  return (
    <input
      id={id}
      className={styles["search"]}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onEnter?.(event.shiftKey);
        if (event.key === "Escape" && onEscape !== undefined) {
          event.stopPropagation();
          onEscape();
        }
      }}
    />
  );
}
