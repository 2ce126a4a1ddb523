/** A value as text, checked by its reader: what is wrong stands below, and nothing that was typed is taken away. */
import type { CSSProperties, ReactNode } from "react";
import { useId } from "react";
import { cx } from "./cx.ts";
import { Hint } from "./Hint.tsx";
import styles from "./fields.module.css";

export interface TypedFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly problem: string | null;
  readonly disabled?: boolean;
  readonly onChange: (text: string) => void;
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function TypedField({
  label,
  hint,
  value,
  placeholder,
  problem,
  disabled = false,
  onChange,
}: TypedFieldProps): ReactNode {
  const id = useId();
  const width = { "--digits": Math.max(4, value.length, placeholder?.length ?? 0) } as CSSProperties;
  return (
    <span className={styles["typed"]}>
      <Hint text={hint} side="top">
        <label className={cx(styles["field"], problem !== null && styles["wrong"])} style={width}>
          <span>{label}</span>
          <input
            type="text"
            inputMode="numeric"
            value={value}
            placeholder={placeholder}
            disabled={disabled}
            spellCheck={false}
            autoComplete="off"
            aria-invalid={problem !== null}
            aria-describedby={`${id}-hint${problem === null ? "" : ` ${id}-problem`}`}
            onChange={(event) => onChange(event.target.value)}
          />
        </label>
      </Hint>
      <span id={`${id}-hint`} hidden>
        {hint}
      </span>
      {problem === null ? null : (
        <em id={`${id}-problem`} role="alert" className={styles["problem"]}>
          {sentence(problem)}
        </em>
      )}
    </span>
  );
}
