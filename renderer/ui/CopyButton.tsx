/** Copies text and says so, to screen readers once; its width does not change while it does. */
import { Check, Copy, X } from "lucide-react";
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "./Button.tsx";

interface CopyProps {
  readonly label: string;
  readonly text: () => string;
}

/** What came of a copy, for a moment. */
type Said = "" | "Copied" | "Not allowed";

function useCopy(text: () => string): { readonly said: Said; readonly copy: () => void } {
  const [said, setSaid] = useState<Said>("");
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
  return { said, copy };
}

/** As an icon, for bars. */
export function CopyIcon({ label, text }: CopyProps): ReactNode {
  const { said, copy } = useCopy(text);
  const Icon = said === "" ? Copy : said === "Copied" ? Check : X;
  return (
    <>
      <IconButton label={label} onClick={copy}>
        <Icon size={13} aria-hidden="true" />
      </IconButton>
      <span className="visually-hidden" aria-live="polite" aria-atomic="true">
        {said}
      </span>
    </>
  );
}

export function CopyButton({ label, text }: CopyProps): ReactNode {
  const { said, copy } = useCopy(text);
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
