/** ◌ predicted, ◐ planned, ● observed. */
import type { ReactNode } from "react";
import { TruthMark } from "../../ui/marks.tsx";
import type { RouteTruth } from "./routing.ts";

/** Observed is evidence from a clock: as full a mark as a measurement, under its own name. */
export function TruthWord({ truth }: { readonly truth: RouteTruth }): ReactNode {
  return <TruthMark truth={truth === "observed" ? "measured" : truth} word={truth} />;
}
