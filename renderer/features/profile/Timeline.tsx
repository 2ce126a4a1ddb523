/**
 * The timeline: tokens, host, the lanes of the device, threads and memory; a second recording below the first on the same axis,
 * moved so that the same token begins at the same place.
 */
import type { ReactNode } from "react";
import { useEffect, useMemo, useState } from "react";
import { offsetBetween } from "../../../main/contract/recordings/compare.ts";
import { recordingTitle } from "../../../main/contract/recordings/recordingFile.ts";
import { tracksOf } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { useSize } from "../../ui/useSize.ts";
import type { ProfileSlice } from "./slice.ts";
import { slicesOfNode } from "./slices.ts";
import type { TimeRange } from "./timeline.ts";
import { joinedRange, rangeAround, totalRange } from "./timeline.ts";
import { effectOf } from "./timelineKeys.ts";
import { TimelineCanvas } from "./TimelineCanvas.tsx";
import { layoutTimeline } from "./timelineLayout.ts";
import { describeRange, describeSlice, describeStep } from "./timelineText.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
const NONE: ReadonlySet<number> = new Set();

export interface TimelineProps {
  readonly profile: ProfileView;
  readonly second: ProfileView | null;
}

export function Timeline({ profile, second }: TimelineProps): ReactNode {
  const [host, { width }] = useSize<HTMLDivElement>();
  const step = useProfile((s) => s.profileStep);
  const slice = useProfile((s) => s.profileSlice);
  const selection = useProfile((s) => s.profileSelection);
  const chooseStep = useProfile((s) => s.chooseStep);
  const chooseSlice = useProfile((s) => s.chooseSlice);
  const select = useProfile((s) => s.selectArea);
  const marked = useMarked(profile);
  const token = useMemo(() => tokenOf(profile, step), [profile, step]);
  const offset = useMemo(() => (second === null ? 0 : offsetBetween(profile, second, token)), [profile, second, token]);
  const own = useMemo(() => totalRange(profile), [profile]);
  const whole = useMemo(
    () => (second === null ? own : joinedRange(own, totalRange(second), offset)),
    [own, second, offset],
  );
  const [range, setRange] = useState<TimeRange>(() => rangeAround(profile, step, whole));
  useEffect(() => setRange(rangeAround(profile, step, totalRange(profile))), [profile]); // eslint-disable-line react-hooks/exhaustive-deps -- a new recording resets the view, a click on a step does not
  // A choice made elsewhere scrolls into view.
  useEffect(() => {
    if (step < 0 || slice < 0) return;
    const start = profile.steps.start[step] ?? 0;
    const end = start + (profile.steps.seconds[step] ?? 0);
    setRange((before) =>
      start < before.to && end > before.from ? before : rangeAround(profile, step, totalRange(profile)),
    );
  }, [profile, step, slice]);
  const layout = useMemo(() => layoutTimeline(tracksOf(profile)), [profile]);
  const below = useMemo(() => (second === null ? null : layoutTimeline(tracksOf(second), 0)), [second]);
  // One axis: the wider names decide for both.
  const label = Math.max(layout.label, below?.label ?? 0);
  const common = { width, range, whole, onRange: setRange };
  return (
    <div className={styles["timeline"]}>
      <div
        ref={host}
        className={styles["lanes"]}
        tabIndex={0}
        role="application"
        aria-label={`Timeline of ${profile.steps.start.length} steps. Arrow keys walk from step to step, with Shift they select time and lanes, W and S zoom, A and D pan, 0 shows all, M marks the step, Escape clears. ${describeStep(profile, step)}`}
        onKeyDown={(event) => {
          if (event.metaKey || event.ctrlKey || event.altKey) return;
          const effect = effectOf({ profile, tracks: layout.rows.length, range, whole, step, selection }, event);
          if (effect === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          if (effect.range !== undefined) setRange(effect.range);
          if (effect.step !== undefined) chooseStep(effect.step);
          if (effect.selection !== undefined) select(effect.selection);
        }}
      >
        <TimelineCanvas
          {...common}
          {...{ profile, step, slice, marked, selection }}
          layout={useMemo(() => ({ ...layout, label }), [layout, label])}
          offset={0}
          onSelect={select}
          onStep={chooseStep}
          onSlice={chooseSlice}
        />
        {second === null || below === null ? null : (
          <>
            <p className={styles["secondTitle"]}>
              {recordingTitle(second)}, token {token + 1} at the same place
            </p>
            <Second {...common} profile={second} layout={below} label={label} offset={offset} />
          </>
        )}
      </div>
      <div className={styles["hover"]} style={{ paddingLeft: label }}>
        <p className={styles["pointed"]}>{describeSlice(profile, slice) || describeStep(profile, step)}</p>
        <p className={styles["inView"]}>{describeRange(profile, range)}</p>
      </div>
      {profile.absent.length === 0 ? null : (
        <p className={styles["absent"]}>
          Not in this recording: {profile.absent.map(({ what, why }) => `${what} (${why})`).join(", ")}.
        </p>
      )}
    </div>
  );
}

type SecondProps = Pick<
  Parameters<typeof TimelineCanvas>[0],
  "profile" | "layout" | "width" | "range" | "whole" | "onRange" | "offset"
> & { readonly label: number };

const nothing = (): void => undefined;

/** To look at and to compare: choices are those of the first. */
function Second({ layout, label, ...rest }: SecondProps): ReactNode {
  const wide = useMemo(() => ({ ...layout, label }), [layout, label]);
  const choices = { step: -1, slice: -1, marked: NONE, selection: null } as const;
  return <TimelineCanvas {...rest} {...choices} layout={wide} onSelect={nothing} onStep={nothing} onSlice={nothing} />;
}

/** Which written token a step is, from 0; the first for a prompt. */
function tokenOf({ steps }: ProfileView, step: number): number {
  let token = -1;
  for (let i = 0; i <= step; i++) if (steps.decode[i] === 1) token++;
  return Math.max(0, token);
}

/** Slices of the op that is selected in the graph. */
function useMarked(profile: ProfileView): ReadonlySet<number> {
  const graph = useProfile((s) => current(s.graph));
  const selected = useProfile((s) => (s.selection.kind === "node" ? s.selection.node : -1));
  const isForeign = useProfile((s) => s.profileForeign);
  return useMemo(() => {
    const id = graph?.view.nodes.id[selected];
    return id === undefined || isForeign ? NONE : slicesOfNode(profile, id);
  }, [profile, graph, selected, isForeign]);
}
