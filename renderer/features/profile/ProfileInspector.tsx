/** Beside a profile: what the chosen step consists of, and the chosen instruction. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, plural, seconds, share } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import type { ProfileSlice } from "./slice.ts";
import { sumStep } from "./timeline.ts";
import { stepTitle } from "./timelineText.ts";
import { WhereCard } from "./WhereCard.tsx";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
const SHOWN = 12;
const roofWord = (value: number): string => (value > 1 ? "from cache" : share(value));

export function ProfileInspector(): ReactNode {
  const profile = useProfile((s) => current(s.profile));
  const step = useProfile((s) => s.profileStep);
  const slice = useProfile((s) => s.profileSlice);
  const sums = useMemo(() => (profile === null || step < 0 ? [] : sumStep(profile, step)), [profile, step]);
  if (profile === null) return <p className={styles["hint"]}>A recording shows here what one token consists of.</p>;
  if (step < 0 || step >= profile.steps.start.length)
    return (
      <>
        <WhereCard />
        <p className={styles["hint"]}>Choose a step in the timeline.</p>
      </>
    );
  const total = profile.steps.seconds[step] ?? 0;
  const known = sums.reduce((sum, row) => sum + row.seconds, 0);
  const read = sums.reduce((sum, row) => sum + row.bytes, 0);
  return (
    <>
      <WhereCard />
      <h2 className={styles["title"]}>{stepTitle(profile, step)}</h2>
      <Card title={seconds(total)} aside={<TruthMark truth={profile.truth} />}>
        <Facts
          rows={[
            ...sums.slice(0, SHOWN).map((row) => [row.op, seconds(row.seconds)] as const),
            ...(total > known * 1.001 ? ([["drawing, start and end", seconds(total - known)]] as const) : []),
          ]}
        />
        {sums.length > SHOWN ? <Note>And {plural(sums.length - SHOWN, "other op")}.</Note> : null}
      </Card>
      {read === 0 ? null : (
        <Card title="What it read">
          <Facts
            rows={[
              ["bytes", bytes(read)],
              ["per second", `${bytes(read / Math.max(1e-9, known))}/s`],
              ...(profile.roof === null
                ? []
                : ([["of the roof", roofWord(read / Math.max(1e-9, known) / profile.roof.value)]] as const)),
            ]}
          />
        </Card>
      )}
      {slice < 0 ? null : (
        <Card title="One instruction" aside={profile.strings[profile.slices.op[slice] ?? 0] ?? ""}>
          <Facts
            rows={[
              ["what", profile.strings[profile.slices.label[slice] ?? 0] ?? ""],
              ["time", seconds(profile.slices.seconds[slice] ?? 0)],
              ["bytes", bytes(profile.slices.bytes[slice] ?? 0)],
              [
                "graph ops",
                String((profile.slices.nodeStart[slice + 1] ?? 0) - (profile.slices.nodeStart[slice] ?? 0)),
              ],
            ]}
          />
          <Note>Ops that were fused share one time; it is not split up.</Note>
        </Card>
      )}
    </>
  );
}
