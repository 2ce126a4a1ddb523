/** What the form asks for, worked out again when something that it depends on has changed. */
import { useMemo } from "react";
import { current } from "../../session/async.ts";
import type { AskedTraining, Problems } from "./form.ts";
import { useTrain } from "./useTrain.ts";

export function useAsked(): AskedTraining | null {
  const form = useTrain((s) => s.trainForm);
  const recipes = useTrain((s) => current(s.trainRecipes));
  const open = useTrain((s) => current(s.model));
  const suggested = useTrain((s) => current(s.trainPlan)?.suggestedPath);
  const asked = useTrain((s) => s.askedTraining);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `asked` reads these from the store.
  return useMemo(() => asked(), [asked, form, recipes, open, suggested]);
}

const NONE: Problems = {};

export function useProblems(): Problems {
  const asked = useAsked();
  return asked?.ok === false ? asked.problems : NONE;
}
