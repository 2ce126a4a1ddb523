/** The types that a device keeps keys and values in, as a field offers them. The engine refuses others in the same words. */
import type { CacheType } from "../../main/contract/views/common.ts";
import { cacheType } from "../../main/contract/views/common.ts";
import type { RunDevice } from "../../main/contract/views/engine.ts";
import type { ChoiceOption } from "../ui/fields.tsx";

export const OWN = "own";

interface CacheTypes {
  readonly types: readonly CacheType[];
  readonly sentence: string;
}

export function cacheTypesOf(device: RunDevice): CacheTypes {
  if (device === "cpu")
    return {
      types: cacheType.options,
      sentence: "In which numbers keys and values are kept. Of f16, q8_0 takes about half and q4_0 about a quarter.",
    };
  if (device === "mlx")
    return {
      types: ["f16", "f32"],
      sentence: "In which floats keys and values are kept. Only the CPU engine attends over packed ones.",
    };
  return { types: [], sentence: "A package keeps keys and values in the floats of its profile." };
}

/** What is asked of the device; null: its own type. */
export const cacheTypeFor = (device: RunDevice, chosen: CacheType | null): CacheType | null =>
  chosen !== null && cacheTypesOf(device).types.includes(chosen) ? chosen : null;

export const cacheChoices = (device: RunDevice): readonly ChoiceOption[] => [
  { id: OWN, title: "the device's own" },
  ...cacheTypesOf(device).types.map((id) => ({ id, title: id })),
];
