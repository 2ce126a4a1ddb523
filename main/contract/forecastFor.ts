/** What the predictions of a comparison are for: where both sides agree, once. */
import type { ComparedSide, Comparison } from "./views/compare.ts";

/** Only a graph has no file; it has no context either. */
const contextOf = ({ file, subject: { target } }: ComparedSide): string =>
  file === null ? "" : `, context ${target.context}`;

/** What a forecast is for: "CPU, M4, 24 GB, context 1024"; of two that differ, both. */
export function forecastFor({ a, b }: Pick<Comparison, "a" | "b">): string {
  const around = (side: ComparedSide): string => `${side.machine}${contextOf(side)}`;
  if (around(a) !== around(b)) return `A on ${a.subjectTitle}, ${around(a)}; B on ${b.subjectTitle}, ${around(b)}`;
  return a.subjectTitle === b.subjectTitle
    ? `${a.subjectTitle}, ${around(a)}`
    : `A on ${a.subjectTitle}, B on ${b.subjectTitle}; ${around(a)}`;
}
