/** What a profile says in one sentence. Every share is of the whole token: the engine's step and the time until the next one. */
import type { ProfileReport } from "../../runtime/profile.ts";
import { median } from "../../runtime/statistics.ts";

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function profileSentence(
  { decode, runs }: Pick<ProfileReport, "decode" | "runs">,
  peakBandwidth: number,
): string {
  const { rows, seconds } = decode;
  const [top] = rows;
  if (top === undefined || seconds <= 0) return "Nothing was recorded.";
  const between = betweenSteps(runs);
  const whole = seconds + between;
  const known = rows.reduce((sum, row) => sum + row.seconds, 0);
  const parts = [
    { what: `in ${top.op}`, seconds: top.seconds },
    { what: "between steps, in JavaScript", seconds: between },
    { what: "in sampling and in starting and ending the step", seconds: Math.max(0, seconds - known) },
  ];
  const largest = parts.reduce((most, part) => (part.seconds > most.seconds ? part : most));
  const first = `A typical token spends ${percent(largest.seconds / whole)} of its time ${largest.what}`;
  const second =
    largest === parts[0] ? "" : `, and ${percent(top.seconds / whole)} in its largest operation, ${top.op}`;
  return `${first}${second}. ${memorySentence(rows.reduce((sum, { bytes }) => sum + bytes, 0) / seconds / peakBandwidth)}`;
}

/** Median seconds from the end of a written token's step to the start of the next. */
function betweenSteps(runs: ProfileReport["runs"]): number {
  const gaps = runs.flatMap((run, i) => {
    const next = runs[i + 1];
    return !run.decode || next === undefined ? [] : [Math.max(0, next.start - run.start - run.seconds)];
  });
  return gaps.length === 0 ? 0 : median(gaps);
}

const memorySentence = (share: number): string =>
  share > 1
    ? "Its weights come from the processor\u2019s cache, faster than memory gives them."
    : `A step reads memory at ${percent(share)} of what this machine can.`;
