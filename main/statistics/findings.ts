/** What is wrong with a tensor by its values, in sentences that name the row and the expert. */
import type { Experts } from "./rowWatch.ts";
import type { Place } from "./places.ts";
import { isVector, placeText, rowText } from "./places.ts";
import type { Difference, TensorScan } from "./scan.ts";

export interface Finding {
  readonly tensor: string;
  /** "broken": no model works with it. "odd": a model may be meant so. */
  readonly kind: "broken" | "odd";
  readonly place: Place | null;
  readonly sentence: string;
}

/** Weights lie around 0.02, norms around 1; a bit that flipped in an exponent gives more than this. */
const HUGE = 1e5;
/** No type loses as much: one bit for a value keeps a cosine of 0.8. */
const LEAST_COSINE = 0.5;

export const counted = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;

function expertsText({ count, first }: Experts): string {
  if (count === 1) return `expert ${first.join()}`;
  const more = count - first.length;
  const named = more > 0 ? first : first.slice(0, -1);
  return `experts ${named.join(", ")} and ${more > 0 ? `${more} more` : first.slice(-1).join()}`;
}

export function findingsOf(scan: TensorScan): readonly Finding[] {
  return [...notFinite(scan), ...zeros(scan), ...huge(scan), ...(scan.difference ? apart(scan, scan.difference) : [])];
}

function* notFinite(scan: TensorScan): Generator<Finding> {
  const { name: tensor, nans, infinities, firstNotFinite: place, badExperts } = scan;
  if (place === null) return;
  const what = [nans > 0 ? `${nans} NaN` : "", infinities > 0 ? `${infinities} infinite` : ""].filter(Boolean);
  const experts = badExperts.count > 1 ? ` in ${expertsText(badExperts)}` : "";
  const sentence = `${what.join(" and ")}${experts}, the first in ${placeText(place, scan)}`;
  yield { tensor, kind: "broken", place, sentence };
}

/** A bias may be zero, and a half of an adapter that was not trained. */
const mayBeZero = (name: string): boolean => /bias|\blora_/u.test(name);

function* zeros({ name: tensor, dims, elements, zeros: found, deadRows, firstDead, deadExperts }: TensorScan) {
  const isWhole = elements > 0 && found === elements;
  if (isWhole && !mayBeZero(tensor)) {
    const kind = isVector(dims) ? "odd" : "broken";
    yield { tensor, kind, place: null, sentence: "nothing but zeros" } as const;
  }
  if (isWhole || firstDead === null) return;
  if (deadExperts.count > 0) {
    const place = { ...firstDead, row: 0, expert: deadExperts.first[0] ?? null };
    const verb = deadExperts.count === 1 ? "is" : "are";
    yield { tensor, kind: "broken", place, sentence: `${expertsText(deadExperts)} ${verb} nothing but zeros` } as const;
    return;
  }
  const sentence = `${counted(deadRows, "row")} of zeros, the first is ${rowText(firstDead)}`;
  yield { tensor, kind: "odd", place: firstDead, sentence } as const;
}

function* huge(scan: TensorScan): Generator<Finding> {
  const { name: tensor, min, max, largest: place, type } = scan;
  const value = -min > max ? min : max;
  if (place === null || Math.abs(value) <= HUGE || /^[iu]\d/u.test(type)) return;
  const sentence = `values up to ${value.toPrecision(3)}, which no weight should have: see ${placeText(place, scan)}`;
  yield { tensor, kind: "odd", place, sentence };
}

function* apart({ name: tensor, finite, dims }: TensorScan, difference: Difference): Generator<Finding> {
  const { cosine, relative, rmse, worst, meanSquare, compared } = difference;
  if (compared === 0 || finite === 0 || relative === 0) return;
  const isApart = cosine < LEAST_COSINE;
  // A row whose error is larger than itself and than what usual rows hold was not rounded, it was replaced. One large row
  // among good ones takes the whole tensor apart, and is the one to name.
  const rowError = worst === null ? 0 : worst.meanSquare * (dims[0] ?? 1);
  const isMostOfIt = rowError > 0.5 * rmse * rmse * compared;
  if (worst !== null && worst.relative > 1 && worst.meanSquare > meanSquare && (!isApart || isMostOfIt)) {
    const size =
      worst.relative === Infinity ? "is zero in the other file" : `differs by ${worst.relative.toFixed(1)} × itself`;
    yield { tensor, kind: "broken", place: worst.place, sentence: `${rowText(worst.place)} ${size}` };
  } else if (isApart) {
    const sentence = `little in common with the other file: cosine ${cosine.toFixed(3)}`;
    yield { tensor, kind: "broken", place: null, sentence };
  }
}
