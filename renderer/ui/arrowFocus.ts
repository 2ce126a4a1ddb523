/** Rows of buttons that are walked by arrow keys, as a list is: the focus goes up and down, to the first and to the last. */
import type { KeyboardEvent } from "react";

/** Where a key leads from place `at` of `count`; null for keys that lead nowhere. */
export function arrowTarget(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return Math.min(count - 1, at + 1);
    case "ArrowUp":
      return Math.max(0, at - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

/** For `onKeyDown` of what holds the buttons. */
export function walkButtons(event: KeyboardEvent<HTMLElement>): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
  const at = buttons.findIndex((button) => button === document.activeElement);
  const next = at < 0 ? null : arrowTarget(event.key, at, buttons.length);
  if (next === null) return;
  event.preventDefault();
  buttons[next]?.focus();
}
