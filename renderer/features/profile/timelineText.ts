/** Steps and slices in words, for the line under the timeline and for screen readers. */
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { approximate, bytes, isApproximate, seconds } from "../../ui/format.ts";

/** A time of the recording: `~` where a simulator took it. */
export const timeText = ({ truth }: Pick<ProfileView, "truth">, value: number): string =>
  isApproximate(truth) ? approximate(seconds(value)) : seconds(value);

export function stepAt({ steps }: ProfileView, time: number): number {
  for (let i = 0; i < steps.start.length; i++) {
    const start = steps.start[i] ?? 0;
    if (time >= start && time <= start + (steps.seconds[i] ?? 0)) return i;
  }
  return -1;
}

export function stepTitle({ steps }: ProfileView, step: number): string {
  if (steps.decode[step] !== 1) return `prompt, ${steps.tokens[step] ?? 0} tokens`;
  let n = 0;
  for (let i = 0; i <= step; i++) n += steps.decode[i] === 1 ? 1 : 0;
  return `token ${n}`;
}

export function describeStep(profile: ProfileView, step: number): string {
  return step < 0 || step >= profile.steps.start.length
    ? ""
    : `${stepTitle(profile, step)}: ${timeText(profile, profile.steps.seconds[step] ?? 0)}`;
}

export function describeSlice(profile: ProfileView, slice: number): string {
  const { slices, strings } = profile;
  if (slice < 0 || slice >= slices.start.length) return "";
  const read = slices.bytes[slice] ?? 0;
  const length = slices.seconds[slice] ?? 0;
  const label = strings[slices.label[slice] ?? 0] ?? "";
  return [
    `${strings[slices.op[slice] ?? 0] ?? ""}${label === "" || label === strings[slices.op[slice] ?? 0] ? "" : ` ${label}`}: ${timeText(profile, length)}`,
    read > 0 && length > 0 ? `${bytes(read)} at ${bytes(read / length)}/s` : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}
