/**
 * Numbers and units as text. Decimal units (MB = 10⁶), a narrow no-break space in thousands and before units, three
 * significant digits for quantities; `~` before what was not measured or counted.
 */
import type { Figure, Truth, Unit } from "../../main/contract/views/common.ts";

/** U+202F: keeps a number and its unit together. */
export const THIN = "\u202f";
const MINUS = "\u2212";

export function count(value: number): string {
  const text = Math.abs(Math.round(value)).toString();
  // Four digits stay together, as printers do.
  const grouped = text.length <= 4 ? text : text.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return value < 0 ? MINUS + grouped : grouped;
}

/** Three significant digits without an exponent. */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  if (magnitude >= 10 ** digits) return count(Number(value.toPrecision(digits)));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(magnitude)));
  const text = magnitude.toFixed(Math.min(decimals, 9));
  return value < 0 ? MINUS + text : text;
}

interface Step {
  readonly at: number;
  readonly unit: string;
}
const BYTES: readonly Step[] = [
  { at: 1e12, unit: "TB" },
  { at: 1e9, unit: "GB" },
  { at: 1e6, unit: "MB" },
  { at: 1e3, unit: "KB" },
];
const PARAMETERS: readonly Step[] = [
  { at: 1e12, unit: "T" },
  { at: 1e9, unit: "B" },
  { at: 1e6, unit: "M" },
  { at: 1e3, unit: "K" },
];

/** "24.0" → "24": sizes are said, not measured. */
const trimmed = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** 999.6 would be written "1000": then the next unit is the right one. */
function scaled(value: number, steps: readonly Step[], base: string): string {
  const rounded = Number(value.toPrecision(3));
  const step = steps.find(({ at }) => Math.abs(rounded) >= at);
  if (step === undefined) return count(value) + (base === "" ? "" : THIN + base);
  return trimmed(significant(rounded / step.at)) + THIN + step.unit;
}

export const bytes = (value: number): string => scaled(value, BYTES, "B");
export const parameters = (value: number): string => scaled(value, PARAMETERS, "");

export function seconds(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const magnitude = Math.abs(value);
  if (magnitude === 0) return `0${THIN}s`;
  // Ten nanoseconds: no clock here tells less, and no forecast.
  if (magnitude < 1e-8) return `<${THIN}0.01${THIN}µs`;
  if (magnitude < 1e-3) return significant(value * 1e6) + THIN + "µs";
  if (magnitude < 1) return significant(value * 1e3) + THIN + "ms";
  return magnitude < 120 ? significant(value) + THIN + "s" : duration(Math.round(value));
}

/** Whole seconds as a clock would count them: "7 s", "2 min 05 s", "3 h 20 min". */
export function duration(whole: number): string {
  if (whole < 120) return whole + THIN + "s";
  const minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes}${THIN}min ${(whole % 60).toString().padStart(2, "0")}${THIN}s`;
  return `${Math.floor(minutes / 60)}${THIN}h ${(minutes % 60).toString().padStart(2, "0")}${THIN}min`;
}

/** A share of one as a percentage: "< 1 %" rather than a false zero. */
export function share(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const percent = value * 100;
  if (percent === 0) return `0${THIN}%`;
  if (percent > 0 && percent < 1) return `<${THIN}1${THIN}%`;
  if (percent > 99 && percent < 100) return `>${THIN}99${THIN}%`;
  return Math.round(percent) + THIN + "%";
}

/** As `share`, with a decimal where small shares are compared: "3.1 %". */
export function fineShare(value: number): string {
  const percent = value * 100;
  return percent >= 9.95 || percent < 0.05 ? share(value) : percent.toFixed(1) + THIN + "%";
}

/** `~` before what was not measured; a bound ("< 1 %") says by itself that it is none. */
export const approximate = (text: string): string => (/^[<>]/.test(text) ? text : `~${text}`);

/** What a share of a predicted whole takes: "~1.24 ms". Nothing for what is too short to matter. */
export const predictedSeconds = (value: number): string => (value > 0 ? approximate(seconds(value)) : "");

/** A relative error: "exact", "0.021 %", "3.4 %". Small errors are what it is for. */
export function errorShare(value: number): string {
  if (value === 0) return "exact";
  if (value < 1e-6) return `<${THIN}0.0001${THIN}%`;
  return significant(value * 100, 2) + THIN + "%";
}

export const rate = (value: number): string => `${significant(value)}${THIN}t/s`;
export const bandwidth = (value: number): string => bytes(value) + "/s";

function flops(value: number): string {
  return (
    scaled(
      value,
      [
        { at: 1e12, unit: "T" },
        { at: 1e9, unit: "G" },
        { at: 1e6, unit: "M" },
      ],
      "",
    ) + "FLOP"
  );
}

/** With a thousandth of the unit below one: "12.3 mJ". */
const magnitude = (value: number, unit: string): string =>
  value !== 0 && Math.abs(value) < 1
    ? `${significant(value * 1e3)}${THIN}m${unit}`
    : `${significant(value)}${THIN}${unit}`;

export function quantity(value: number, unit: Unit): string {
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "seconds":
      return seconds(value);
    case "tokens/s":
      return rate(value);
    case "bytes/s":
      return bandwidth(value);
    case "flops":
      return flops(value);
    case "flops/s":
      return flops(value) + "/s";
    case "share":
      return share(value);
    case "count":
      return count(value);
    case "bits":
      return `${significant(value)}${THIN}bits`;
    case "ratio":
      return significant(value);
    case "joules":
      return magnitude(value, "J");
    case "watts":
      return magnitude(value, "W");
  }
}

/** Everything that is neither measured nor counted gets a `~`. */
export const isApproximate = (truth: Truth): boolean => truth !== "exact" && truth !== "measured";

export function figureText(figure: Figure): string {
  const text = quantity(figure.value, figure.unit);
  return isApproximate(figure.truth) && figure.value !== 0 ? approximate(text) : text;
}

/** "110–140" for a prediction with a range, so that it does not look more certain than it is. */
export function rangeText(figure: Figure): string {
  const { low, high, unit } = figure;
  if (low === null || high === null || figure.truth === "measured" || low === high) return figureText(figure);
  const split = (text: string): readonly [string, string] => {
    const at = text.lastIndexOf(THIN);
    return at < 0 || /\d$/.test(text) ? [text, ""] : [text.slice(0, at), text.slice(at)];
  };
  const [lowNumber, lowUnit] = split(quantity(low, unit));
  const [highNumber, highUnit] = split(quantity(high, unit));
  return lowUnit === highUnit
    ? `${lowNumber}–${highNumber}${highUnit}`
    : `${lowNumber}${lowUnit} – ${highNumber}${highUnit}`;
}

/** "2429–3959": where a number lies, as narrow as it can be said. */
export const intervalText = (low: number, high: number, digits = 3): string =>
  `${significant(low, digits)}–${significant(high, digits)}`;

/** Half the interval of a measurement: "± 0.3"; where that is more than the value, the interval: no rate is below zero. */
export function spreadText(figure: Figure): string {
  if (figure.low === null || figure.high === null || figure.truth !== "measured") return "";
  if ((figure.high - figure.low) / 2 > Math.abs(figure.value)) return intervalText(figure.low, figure.high);
  return `±${THIN}${significant((figure.high - figure.low) / 2, 2)}`;
}

export const signed = (value: number): string => (value > 0 ? "+" : "") + count(value);

export function shape(dims: readonly number[]): string {
  return dims.join("×");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
