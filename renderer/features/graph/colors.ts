/** The canvas's colours, read from the tokens. */
import type { Device } from "../../../main/contract/views/common.ts";
import { DEVICES } from "../../../main/contract/views/common.ts";
import { deviceLook } from "../../ui/devices.ts";
import { heatColor } from "../../../main/contract/heat.ts";

export interface CanvasColors {
  readonly canvas: string;
  readonly panel: string;
  readonly raised: string;
  readonly sunken: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly edge: string;
  readonly ink: string;
  readonly ink2: string;
  readonly ink3: string;
  readonly select: string;
  readonly bar: string;
  readonly warn: string;
  readonly font: string;
  readonly mono: string;
  readonly change: { readonly added: string; readonly removed: string; readonly changed: string };
  readonly device: { readonly [D in Device]: string };
}

export function readColors(element: Element): CanvasColors {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    canvas: of("--canvas"),
    panel: of("--panel"),
    raised: of("--raised"),
    sunken: of("--sunken"),
    line: of("--line"),
    lineStrong: of("--line-strong"),
    edge: of("--edge"),
    ink: of("--ink"),
    ink2: of("--ink-2"),
    ink3: of("--ink-3"),
    select: of("--select"),
    bar: of("--bar"),
    warn: of("--warn"),
    font: of("--font"),
    mono: of("--mono"),
    change: { added: of("--added"), removed: of("--removed"), changed: of("--changed") },
    device: Object.fromEntries(DEVICES.map((device) => [device, of(deviceLook(device).color)])) as {
      readonly [D in Device]: string;
    },
  };
}

/** A colour of `ink` over `ground`, both "#rrggbb" or, as a bundler shortens it, "#rgb". */
export function mixed(ground: string, ink: string, share: number): string {
  const partsOf = (text: string): readonly number[] => {
    const digits = text.length === 4 ? text.replace(/[0-9a-f]/gi, "$&$&") : text;
    return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
  };
  const [below, above] = [partsOf(ground), partsOf(ink)];
  const parts = [0, 1, 2].map((at) => Math.round((below[at] ?? 0) * (1 - share) + (above[at] ?? 0) * share));
  return `rgb(${parts.join(" ")})`;
}

const STEPS = 127;
const PALETTE = Array.from({ length: STEPS + 1 }, (_, i) => heatColor(i / STEPS));
/**
 * The nearest of 128 colours: thousands of boxes share their strings, which canvas reads only once.
 */
export const heatStep = (share: number): string =>
  PALETTE[Math.round(Math.min(1, Math.max(0, share)) * STEPS)] ?? heatColor(share);

/** Grey, and not on the scale. */
export const NOTHING_KNOWN = "#80808066";

/** The order of the types: whole numbers first, then from many bits to few. */
const TYPE_PLACES: ReadonlyMap<string, number> = new Map([
  ["bool", 0],
  ["u8", 0.03],
  ["i8", 0.06],
  ["i16", 0.09],
  ["i32", 0.12],
  ["u32", 0.16],
  ["i64", 0.2],
  ["c64", 0.26],
  ["f64", 0.3],
  ["f32", 0.36],
  ["q8_k", 0.44],
  ["q8_0", 0.48],
  ["q6_k", 0.56],
  ["q5_1", 0.6],
  ["q5_k", 0.62],
  ["q5_0", 0.64],
  ["nvfp4", 0.66],
  ["mxfp4", 0.68],
  ["q4_1", 0.7],
  ["q4_k", 0.72],
  ["q4_0", 0.74],
  ["iq4_nl", 0.76],
  ["iq4_xs", 0.775],
  ["q3_k", 0.79],
  ["iq3_s", 0.805],
  ["iq3_xxs", 0.82],
  ["q2_k", 0.835],
  ["q2_0", 0.85],
  ["iq2_s", 0.862],
  ["iq2_xs", 0.874],
  ["iq2_xxs", 0.886],
  ["tq2_0", 0.898],
  ["tq1_0", 0.91],
  ["iq1_m", 0.922],
  ["iq1_s", 0.934],
  ["q1_0", 0.946],
  ["bf16", 0.97],
  ["f16", 1],
]);

/** Where an element type stands among all others; null for a type that is not known. */
export const typePlace = (type: string): number | null => TYPE_PLACES.get(type) ?? null;

/** From here on colours can be told from a dark ground. */
const LEAST_SEEN = 0.3;

/**
 * A colour for each of the types of weights that a graph has, as far apart as the scale allows, in the order of the types. Of
 * several types that one op reads the first counts.
 */
export function weightColors(legend: readonly string[]): readonly string[] {
  const placeOf = (text: string): number | null => typePlace(text.split(" ", 1)[0] ?? "");
  const known = legend.filter((text) => placeOf(text) !== null);
  const order = [...known].sort((a, b) => (placeOf(a) ?? 0) - (placeOf(b) ?? 0));
  return legend.map((text) => {
    const at = order.indexOf(text);
    if (at < 0) return NOTHING_KNOWN;
    return heatStep(order.length < 2 ? 1 : LEAST_SEEN + ((1 - LEAST_SEEN) * at) / (order.length - 1));
  });
}

/** Position of a value on a logarithmic scale from `low` to `high`. */
export function logShare(value: number, low: number, high: number): number {
  if (value <= 0 || high <= 0) return 0;
  const floor = Math.max(low, high / 1e6);
  return high <= floor ? 1 : Math.min(1, Math.max(0, Math.log(value / floor) / Math.log(high / floor)));
}
