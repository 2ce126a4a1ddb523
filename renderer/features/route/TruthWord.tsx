/** ◌ predicted, ◐ planned, ● observed. */
import type { ReactNode } from "react";
import { TruthMark } from "../../ui/marks.tsx";
import type { RouteTruth } from "./routing.ts";

/**
 * Observed is evidence from a clock: as full a mark as a measurement, under its own name. A simulated
 * plan wears the mark of what is simulated.
 */
export function TruthWord({
  truth,
  simulated = false,
}: {
  readonly truth: RouteTruth;
  readonly simulated?: boolean;
}): ReactNode {
  if (simulated) return <TruthMark truth="simulated" word={`${truth}, simulated`} />;
  return <TruthMark truth={truth === "observed" ? "measured" : truth} word={truth} />;
}
