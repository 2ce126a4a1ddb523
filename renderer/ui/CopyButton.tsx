/** Copies text and says so, to screen readers once; its width does not change while it does. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { Button } from "./Button.tsx";

export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string }): ReactNode {
  const [said, setSaid] = useState<"" | "Copied" | "Not allowed">("");
  useEffect(() => {
    if (said === "") return undefined;
    const timer = setTimeout(() => setSaid(""), 1500);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(
      () => setSaid("Copied"),
      () => setSaid("Not allowed"),
    );
  };
  return (
    <>
      <Button small onClick={copy} aria-label={label}>
        <span style={{ display: "inline-grid" }} aria-hidden="true">
          <span style={{ gridArea: "1 / 1", visibility: said === "" ? "visible" : "hidden" }}>{label}</span>
          <span style={{ gridArea: "1 / 1" }}>{said}</span>
        </span>
      </Button>
      {/* Beside the button, not in it: a dialog hides the page from screen readers, but for its live regions and what holds
          them. Atomic in itself: else an alert around it would be read again as a whole. */}
      <span className="visually-hidden" aria-live="polite" aria-atomic="true">
        {said}
      </span>
    </>
  );
}
