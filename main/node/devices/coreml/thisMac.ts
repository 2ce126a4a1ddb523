/** This Mac as the initial target of predictions. */
import { CHIPS, SYSTEMS } from "../../../backends/coreml/plan/target.ts";
import type { TargetSpec } from "../../../contract/views/common.ts";
import type { CoremlAccess } from "./device.ts";
import { coremlMissing } from "./device.ts";
import type { CoremlMachine } from "./native.ts";

type Place = Pick<TargetSpec, "chip" | "os">;

/** The chip's family, and the newest system with rules that is not newer than this one. */
export function placeOf({ chip, osMajor }: Pick<CoremlMachine, "chip" | "osMajor">): Place | undefined {
  const family = /\bM\d+\b/.exec(chip)?.[0].toLowerCase();
  const known = CHIPS.find(({ id }) => id === family) ?? (family === undefined ? undefined : CHIPS.at(-1));
  const system = SYSTEMS.filter(({ id }) => Number(id.replace("macos", "")) <= osMajor).at(-1);
  return known === undefined || system === undefined ? undefined : { chip: known.id, os: system.id };
}

/** Undefined without Core ML or without Apple silicon. */
export function thisMac(coreml: CoremlAccess): Place | undefined {
  if (coremlMissing(coreml) !== undefined) return undefined;
  try {
    return placeOf(coreml.bridge().machine());
  } catch {
    // The engine still starts. The list of devices shows the error.
    return undefined;
  }
}
