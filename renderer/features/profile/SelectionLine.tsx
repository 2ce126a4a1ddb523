/** What the selected time and lanes add up to, in one line above the table that shows it by op. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { totalOf } from "../../../main/contract/recordings/sums.ts";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import { selectionSum, tracksOf } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { Button } from "../../ui/Button.tsx";
import { bytes, count, plural, seconds, share } from "../../ui/format.ts";
import styles from "./Profile.module.css";

export interface SelectionLineProps {
  readonly profile: ProfileView;
  readonly selection: Selection;
  readonly onClear: () => void;
}

export function SelectionLine({ profile, selection, onClear }: SelectionLineProps): ReactNode {
  const {
    steps,
    sums,
    threads,
    memory,
    seconds: span,
  } = useMemo(() => selectionSum(profile, selection), [profile, selection]);
  const lanes = useMemo(
    () =>
      tracksOf(profile)
        .slice(selection.first, selection.last + 1)
        .map(({ title }) => title),
    [profile, selection],
  );
  const pieces = sums.reduce((sum, each) => sum + each.count, 0);
  const total = totalOf(sums);
  const facts = [
    `${seconds(span)} of ${lanes.length > 2 ? plural(lanes.length, "lane") : lanes.join(" and ")}`,
    ...(steps === null ? [] : [plural(steps, "step")]),
    ...(pieces === 0
      ? []
      : [
          `count ${count(pieces)}`,
          `sum ${seconds(total)}`,
          `mean ${seconds(total / pieces)}`,
          `min ${seconds(Math.min(...sums.map(({ min }) => min)))}`,
          `max ${seconds(Math.max(...sums.map(({ max }) => max)))}`,
        ]),
    ...(threads.length === 0
      ? []
      : [`threads worked ${threads.map((thread) => share(thread.share)).join(", ")} of it`]),
    ...(memory === null
      ? []
      : [`memory ${memory.min === memory.max ? "" : `${bytes(memory.min)} to `}${bytes(memory.max)}`]),
  ];
  return (
    <div className={styles["selected"]} role="status" aria-label="Selection">
      <strong>Selected</strong>
      <span>{facts.join(" · ")}</span>
      <Button small look="ghost" onClick={onClear} title="Escape, in the timeline">
        Clear
      </Button>
    </div>
  );
}
