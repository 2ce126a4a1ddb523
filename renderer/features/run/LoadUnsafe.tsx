/** Consent to load a Core ML model once more that ended its helper: nothing else loads it again. */
import type { ReactNode } from "react";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import type { ShownError } from "../../ui/ErrorNote.tsx";

export function LoadUnsafe({
  error,
  onAllowed,
}: {
  readonly error: ShownError;
  readonly onAllowed: () => void;
}): ReactNode {
  const allow = useSession((state) => state.allowCompile);
  const notify = useSession((state) => state.notifyError);
  const verdict = unsafeVerdict(error);
  if (verdict === null) return null;
  return (
    <Button
      small
      onClick={() => void allow(verdict).then(onAllowed, (cause: unknown) => notify("It could not be allowed", cause))}
    >
      Load it all the same
    </Button>
  );
}

/** The name of the verdict that keeps a model from being loaded; null for any other error. */
export function unsafeVerdict({ code, details }: ShownError): string | null {
  if (code !== "COREML_UNSAFE" || typeof details !== "object" || details === null || !("verdict" in details))
    return null;
  return typeof details.verdict === "string" ? details.verdict : null;
}
