/** A view without content for this model: why, and the way to a missing file. */
import type { ReactNode } from "react";
import type { Ability } from "../../main/contract/views/common.ts";
import { Button } from "./Button.tsx";
import { Empty } from "./states.tsx";

interface CannotHereProps {
  readonly title: string;
  readonly why: Extract<Ability, { ok: false }>;
  /** Where a file can be found or sent: the overview. */
  readonly onLocate: () => void;
}

export function CannotHere({ title, why, onLocate }: CannotHereProps): ReactNode {
  const locate =
    why.offer === "none" ? undefined : (
      <Button look="primary" onClick={onLocate}>
        Find or send the file
      </Button>
    );
  return (
    <Empty title={title} action={locate}>
      {why.sentence} {why.hint ?? ""}
    </Empty>
  );
}
