/** Numbers of a training run as text. */
import type { TrainState } from "../../../main/contract/views/train.ts";
import { significant, THIN } from "../../ui/format.ts";

/** Very small and very large numbers as a power of ten: losses and rates reach both. */
function plainNumber(value: number, digits: number): string {
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-3 || magnitude >= 1e6)) {
    const [mantissa = "", power = ""] = value.toExponential(digits - 1).split("e");
    return `${mantissa.replace(/\.?0+$/u, "").replace("-", "−")}e${power.replace("+", "")}`;
  }
  return significant(value, digits);
}

/** "–": nothing yet; "no number" for what is none. */
const textOf =
  (digits: number) =>
  (value: number | null | undefined): string =>
    value === null || value === undefined ? "–" : Number.isFinite(value) ? plainNumber(value, digits) : "no number";

export const lossText = textOf(4);
export const rateText = textOf(3);
/** Parts of a paragraph end like sentences. */
export const sentence = (text: string): string => (/[.!?]$/u.test(text) ? text : `${text}.`);
export const speedText = (value: number): string => `${plainNumber(value, 3)}${THIN}/s`;

export const STATES: Readonly<Record<TrainState, string>> = {
  running: "running",
  paused: "paused",
  done: "done",
  stopped: "stopped",
  cancelled: "dropped",
  failed: "failed",
  interrupted: "interrupted",
};
