/** Colours of weights, by type and on a logarithmic scale: the graph and the picture of a file have the same. */
import { heatColor } from "../../main/contract/heat.ts";

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
