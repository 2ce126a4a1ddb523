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

export const isPacked = (type: CacheType): boolean => type !== "f16" && type !== "f32";

export function cacheTypeChoice(device: Pick<DeviceInfo, "title" | "cacheTypes"> | undefined): CacheTypeChoice {
  const types = device?.cacheTypes ?? [];
  if (types.length === 0)
    return { options: [], sentence: `${device?.title ?? "The device"} keeps keys and values in a type of its own.` };
  const sentence = types.some(isPacked)
    ? "In which numbers keys and values are kept. Of f16, q8_0 takes about half and q4_0 about a quarter."
    : "In which floats keys and values are kept. Only the CPU engine attends over packed ones.";
  return {
    options: cacheTypeOptions(types),
    sentence,
  };
}

type Keeping = Pick<DeviceInfo, "title" | "backend" | "cacheTypes">;

/** Types that all of these devices take, as of what is measured in turn; none where one of them has no choice. */
export const sharedCacheTypes = (devices: readonly (Keeping | undefined)[]): readonly CacheType[] =>
  (devices[0]?.cacheTypes ?? []).filter((type) => devices.every((device) => device?.cacheTypes?.includes(type)));

/** Types that any of the devices takes: packed ones may be looked at from wherever the window is. */
export const anyCacheTypes = (devices: readonly Keeping[]): readonly CacheType[] => [
  ...new Set(devices.flatMap(({ cacheTypes }) => cacheTypes ?? [])),
];

/** Behind a field that offers floats only. */
export const PACKED_ELSEWHERE = "packed: CPU engine only";

export const cacheTypeOptions = (types: readonly CacheType[]): readonly ChoiceOption[] =>
  types.length === 0 ? [] : [{ id: OWN, title: "the device's own" }, ...types.map((id) => ({ id, title: id }))];

/** A device that keeps keys and values so, where the subject of the window does not. */
export function keptElsewhere(devices: readonly Keeping[], backend: string, type: CacheType): Keeping | undefined {
  const takes = (device: Keeping): boolean => device.cacheTypes?.includes(type) === true;
  const own = devices.find((device) => device.backend === backend && takes(device));
  return own === undefined ? devices.find(takes) : undefined;
}
