/** The comparison, with the choice between two files of a model: their answers and speed, which the benchmarks measure. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { ChoiceCard } from "../features/bench/ChoiceCard.tsx";
import { CompareTab } from "../features/compare/CompareTab.tsx";
import type { CompareSlice } from "../features/compare/slice.ts";
import { current } from "../session/async.ts";
import { useWorkbench } from "./useWorkbench.ts";

export function CompareView(): ReactNode {
  const sides = useWorkbench((state) => state.sides);
  const refusal = useWorkbench((state) => state.sidesRefusal);
  const chosen = useWorkbench((state) => current(state.fileChoice));
  const path = otherFile(sides);
  const paths = useMemo(() => (path === null ? [] : [path]), [path]);
  const isOfThese = path !== null && chosen?.paths.length === 1 && chosen.paths[0] === path;
  return (
    <CompareTab
      taken={isOfThese ? chosen.sentence : null}
      choice={path === null || refusal !== null ? null : <ChoiceCard paths={paths} />}
    />
  );
}

/** The file that stands against the open one. */
function otherFile(sides: CompareSlice["sides"]): string | null {
  if (sides === null) return null;
  const [a, b] = [sides.a.model, sides.b.model];
  if (a.kind === "open" && b.kind === "file") return b.path;
  return b.kind === "open" && a.kind === "file" ? a.path : null;
}
