/** Recordings and their comparison as text. */
import type { Comparison } from "../../contract/recordings/compare.ts";
import { milliseconds, signedMilliseconds } from "../../contract/recordings/compare.ts";
import { recordingTitle } from "../../contract/recordings/recordingFile.ts";
import { layerSums, phaseScope } from "../../contract/recordings/sums.ts";
import type { ProfileRow, ProfileView } from "../../contract/views/run.ts";
import { peakShareOf } from "../../contract/views/run.ts";
import type { Output } from "./output.ts";
import { figureText } from "./output.ts";

export type Grouping = "op" | "layer";

export function printProfile(output: Output, view: ProfileView, by: Grouping): void {
  output.line(view.sentence);
  for (const { what, why } of view.absent) output.line(`Not recorded: ${what} (${why}).`);
  for (const [title, time, phase] of [
    ["Reading the prompt", "time", "prefill"],
    ["Writing", "time, one token", "decode"],
  ] as const) {
    const part = view[phase];
    output.line(
      `\n${title}: ${figureText(part.seconds)} ${part.seconds.basis}; ${figureText(part.whole)} until the next`,
    );
    if (by === "op") printOps(output, time, part.rows);
    else
      output.table(
        ["layer", "times", time, "share", ""],
        layerSums(view, phaseScope(view, phase)).map(({ name, count, seconds, share, truth }) => [
          name,
          countText(count),
          milliseconds(seconds),
          percent(share),
          truthText(truth),
        ]),
        { right: [1, 2, 3], yields: 0 },
      );
  }
}

function printOps(output: Output, time: string, rows: readonly ProfileRow[]): void {
  output.table(
    ["op", "times", time, "share", "bandwidth", "of peak", ""],
    rows.map((row) => [
      row.op,
      countText(row.count),
      milliseconds(row.seconds),
      percent(row.share),
      ...bandwidthTexts(row),
      truthText(row.truth),
    ]),
    { right: [1, 2, 3, 4, 5], yields: 0 },
  );
  if (rows.some((row) => peakShareOf(row).kind === "cache"))
    output.line("cache: faster than memory, because these weights stay in the processor's cache from token to token");
}

const countText = (count: number): string => String(Math.round(count * 10) / 10);
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
/** What the clock told needs no word. */
const truthText = (truth: ProfileRow["truth"]): string => (truth === "measured" ? "" : truth);

/** Bandwidth and its share of the peak. Empty for ops that memory does not limit. */
function bandwidthTexts(row: ProfileRow): readonly [string, string] {
  const peak = peakShareOf(row);
  if (row.bandwidth === null || peak.kind === "none") return ["", ""];
  return [
    `${(row.bandwidth / 1e9).toFixed(1)} GB/s`,
    peak.kind === "cache" ? "cache" : `${(peak.value * 100).toFixed(0)} %`,
  ];
}

export function printComparison(
  output: Output,
  profiles: readonly ProfileView[],
  { sentence, differences }: Comparison,
): void {
  profiles.forEach((profile, i) => output.line(`${i === 0 ? "First" : "Second"}: ${recordingTitle(profile)}`));
  output.line(sentence);
  output.table(
    ["op", "first", "second", "change", ""],
    differences.map(({ name, first, second, seconds, share }) => [
      name,
      first === null ? "–" : milliseconds(first),
      second === null ? "–" : milliseconds(second),
      signedMilliseconds(seconds),
      share === null ? "" : `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)} %`,
    ]),
    { right: [1, 2, 3, 4], yields: 0 },
  );
}
