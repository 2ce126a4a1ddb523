/** The types that a device keeps keys and values in, as a field offers them. */
import type { CacheType } from "../../main/contract/views/common.ts";
import type { DeviceInfo } from "../../main/contract/views/engine.ts";
import type { ChoiceOption } from "../ui/fields.tsx";

export const OWN = "own";

export interface CacheTypeChoice {
  /** None where there is no choice. */
  readonly options: readonly ChoiceOption[];
  readonly sentence: string;
}

const isPacked = (type: CacheType): boolean => type !== "f16" && type !== "f32";

export function cacheTypeChoice(device: Pick<DeviceInfo, "title" | "cacheTypes"> | undefined): CacheTypeChoice {
  const types = device?.cacheTypes ?? [];
  if (types.length === 0)
    return { options: [], sentence: `${device?.title ?? "The device"} keeps keys and values in a type of its own.` };
  const sentence = types.some(isPacked)
    ? "In which numbers keys and values are kept. Of f16, q8_0 takes about half and q4_0 about a quarter."
    : "In which floats keys and values are kept. Only the CPU engine attends over packed ones.";
  return {
    options: [{ id: OWN, title: "the device's own" }, ...types.map((id) => ({ id, title: id }))],
    sentence,
  };
}
