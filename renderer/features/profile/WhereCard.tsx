/** Where one token goes, from the last recording: beside the profile, and beside a run. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { figureText, fineShare, plural } from "../../ui/format.ts";
import { Meter, TruthMark } from "../../ui/marks.tsx";
import type { PartName } from "./breakdown.ts";
import { tokenParts } from "./breakdown.ts";
import type { ProfileSlice } from "./slice.ts";
import { timeText } from "./timelineText.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();

const NAMES: { readonly [P in PartName]: string } = {
  weights: "matmuls with weights",
  attention: "attention and cache",
  rest: "norms and the rest",
  sampling: "sampling",
  between: "JavaScript between steps",
};
const MEANING: { readonly [P in PartName]: string } = {
  weights: "Linear layers and the embedding: they read every weight once for each token.",
  attention: "Attention over the cache, and appending to it.",
  rest: "Norms, rope tables, sums.",
  sampling: "Sampling from the last layer's output, and the start and end of the step.",
  between: "From the end of one step to the start of the next. A run asks for the next step ahead and mostly hides it.",
};

export function WhereCard(): ReactNode {
  const profile = useProfile((s) => current(s.profile));
  const where = useMemo(() => (profile === null ? null : tokenParts(profile)), [profile]);
  if (profile === null || where === null || where.parts.length === 0) return null;
  return (
    <Card title="Where one token goes" aside={<TruthMark truth={profile.truth} />}>
      <dl className={styles["where"]}>
        {where.parts.map(({ part, seconds: each, share }) => (
          <div key={part} title={MEANING[part]}>
            <dt>{NAMES[part]}</dt>
            <dd>{timeText(profile, each)}</dd>
            <dd>{fineShare(share)}</dd>
            <dd>
              <Meter value={share} label={NAMES[part]} />
            </dd>
          </div>
        ))}
      </dl>
      <Note>
        A typical token:{" "}
        {where.tokens === 1 ? "the middle one" : `the mean of the middle ${plural(where.tokens, "token")}`} by time. It
        takes {figureText(profile.decode.whole)}, {figureText(profile.decode.seconds)} of it in the engine.
      </Note>
    </Card>
  );
}
