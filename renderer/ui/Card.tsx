/** A card: a title that asks or names, an aside that says for what, and what belongs to it. */
import type { KeyboardEventHandler, ReactNode } from "react";
import { useId } from "react";
import { cx } from "./cx.ts";
import styles from "./Card.module.css";

export interface CardProps {
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string | undefined;
  readonly level?: 2 | 3;
  /** Keys of what has the focus within. */
  readonly onKeyDown?: KeyboardEventHandler<HTMLElement>;
}

export function Card({ title, aside, children, className, level = 3, onKeyDown }: CardProps): ReactNode {
  const id = useId();
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <section className={cx(styles["card"], className)} aria-labelledby={id} onKeyDown={onKeyDown}>
      <div className={styles["head"]}>
        <Heading id={id} className={styles["title"]}>
          {title}
        </Heading>
        {aside === undefined ? null : <div className={styles["aside"]}>{aside}</div>}
      </div>
      {children}
    </section>
  );
}

export function Note({ children }: { readonly children: ReactNode }): ReactNode {
  return <p className={styles["note"]}>{children}</p>;
}
