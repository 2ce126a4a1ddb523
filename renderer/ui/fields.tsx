/** Form fields: a label and its control in one box, or stacked with a sentence below. */
import type { CSSProperties, ReactNode } from "react";
import { useEffect, useId, useRef, useState } from "react";
import { cx } from "./cx.ts";
import { count } from "./format.ts";
import { Hint } from "./Hint.tsx";
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
  /** The meaning of the number, shown on hover and focus. */
  readonly hint?: string;
  /** One of a column of fields. */
  readonly inColumn?: boolean;
  readonly whole?: boolean;
}

export interface TypedNumber {
  /** The current value; null while nothing usable has been typed. */
  readonly value: number | null;
  /** The bound that replaced the number, shown beside the field. */
  readonly limit: "" | "at most" | "at least";
}

/**
 * Too much becomes the most at once, because more digits only lead further away; too little waits, because "5" is on the way
 * to "512".
 */
export function typedNumber(
  text: string,
  { min, max, whole = false, done }: { min: number; max: number; whole?: boolean; done: boolean },
): TypedNumber {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return { value: null, limit: "" };
  if (number > max) return { value: max, limit: "at most" };
  if (number < min) return { value: done ? min : null, limit: "at least" };
  return { value: whole && !Number.isInteger(number) ? (done ? Math.round(number) : null) : number, limit: "" };
}

/**
 * Keeps the text until it is a valid number. Shows when it was clamped, and the used value on blur.
 */
export function NumberField({
  label,
  value,
  min,
  max,
  step = 1,
  digits = 5,
  onChange,
  small = false,
  hint,
  inColumn = false,
  whole = false,
}: NumberFieldProps): ReactNode {
  const [draft, setDraft] = useState(String(value));
  const [limit, setLimit] = useState<TypedNumber["limit"]>("");
  const hintId = useId();
  const ours = useRef(value);
  useEffect(() => {
    setDraft(String(value));
    // A bound is said of what was typed here, not of a number that came from elsewhere.
    if (ours.current !== value) setLimit("");
    ours.current = value;
  }, [value]);
  useEffect(() => setLimit(""), [min, max]);
  const give = (next: number): void => {
    ours.current = next;
    onChange(next);
  };
  const take = (text: string, done: boolean): void => {
    const typed = typedNumber(text, { min, max, whole, done });
    setDraft(typed.limit === "at most" ? String(max) : text);
    setLimit(typed.limit);
    if (typed.value !== null && typed.value !== value) give(typed.value);
  };
  const field = (
    <label className={cx(styles["field"], small && styles["small"])} style={{ "--digits": digits } as CSSProperties}>
      <span>{label}</span>
      {limit === "" ? null : (
        <em role="status">
          {limit} {count(limit === "at most" ? max : min)}
        </em>
      )}
      <input
        type="number"
        value={draft}
        min={min}
        max={max}
        step={step}
        {...(hint === undefined ? {} : { "aria-describedby": hintId })}
        onChange={(event) => take(event.target.value, false)}
        onBlur={(event) => {
          const { value: left } = typedNumber(event.target.value, { min, max, whole, done: true });
          if (left !== null && left !== value) give(left);
          setDraft(String(left ?? value));
          // The note about a bound stays, because it explains why the number changed.
        }}
      />
    </label>
  );
  if (hint === undefined) return field;
  return (
    <>
      <Hint text={hint} side={inColumn ? "inline-end" : "top"}>
        {field}
      </Hint>
      <span id={hintId} hidden>
        {hint}
      </span>
    </>
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
  /** What it found, as a list below it that the arrow keys walk. */
  readonly list?: SearchList | undefined;
}

export interface SearchList {
  readonly id: string;
  /** Put away, it comes back with an arrow key. */
  readonly isOpen: boolean;
  /** The id of the row that the keyboard is on. */
  readonly active: string | undefined;
  readonly onArrow: (step: 1 | -1) => void;
}

export function SearchField({
  label,
  placeholder,
  value,
  onChange,
  onEnter,
  onEscape,
  id,
  list,
}: SearchFieldProps): ReactNode {
  return (
    <input
      id={id}
      {...(list !== undefined && {
        role: "combobox",
        "aria-expanded": list.isOpen,
        "aria-autocomplete": "list",
        "aria-controls": list.isOpen ? list.id : undefined,
        "aria-activedescendant": list.isOpen ? list.active : undefined,
      })}
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
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (step !== 0 && list !== undefined) {
          event.preventDefault();
          list.onArrow(step);
        }
        if (event.key === "Escape" && onEscape !== undefined) {
          event.stopPropagation();
          onEscape();
        }
      }}
    />
  );
}
