/** The weights that the target's package would have: `auto` follows the units, and the route says which that is. */
import type { ProfileChoice } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";

export interface ChosenProfile {
  readonly choice: ProfileChoice;
  /** Title of the target's units. */
  readonly units: string;
}

export function useProfile(profiles: readonly ProfileChoice[]): ChosenProfile | null {
  const profile = useSession((state) => current(state.routes.decode)?.target.profile ?? null);
  const id = useSession((state) => state.target?.units ?? null);
  const units = useSession((state) => current(state.targets)?.units ?? null);
  const choice = profiles.find((row) => (profile === null ? row.chosenFor !== null : row.profile === profile));
  const of = profile === null ? (choice?.chosenFor ?? null) : id;
  if (choice === undefined || of === null) return null;
  return { choice, units: units?.find((each) => each.id === of)?.title ?? of };
}
