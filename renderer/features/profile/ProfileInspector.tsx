/** Beside a profile: the parts of the chosen step, and the chosen instruction. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { slicePiece, stepTitle } from "../../../main/contract/recordings/pieces.ts";
import { opSums, stepScope, totalOf } from "../../../main/contract/recordings/sums.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { nodeName, opName } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { bytes, plural, share } from "../../ui/format.ts";
import { TruthMark } from "../../ui/marks.tsx";
import type { ProfileSlice } from "./slice.ts";
import { nodesOfSlice } from "./slices.ts";
import { timeText } from "./timelineText.ts";
import { WhereCard } from "./WhereCard.tsx";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
const SHOWN = 12;
const peakWord = (value: number): string => (value > 1 ? "from cache" : share(value));

export interface ProfileInspectorProps {
  /** Opens the graph at a node of the legal graph. */
  readonly onNode: (node: number) => void;
}

export function ProfileInspector({ onNode }: ProfileInspectorProps): ReactNode {
  const profile = useProfile((s) => current(s.profile));
  const step = useProfile((s) => s.profileStep);
  const slice = useProfile((s) => s.profileSlice);
  const sums = useMemo(() => (profile === null || step < 0 ? [] : opSums(profile, stepScope(step))), [profile, step]);
  if (profile === null) return <p className={styles["hint"]}>A recording shows here what one token consists of.</p>;
  if (step < 0 || step >= profile.steps.start.length)
    return (
      <>
        <WhereCard />
        <p className={styles["hint"]}>Choose a step in the timeline.</p>
      </>
    );
  const ops = sums.filter(({ kind }) => kind === "op");
  const known = totalOf(ops);
  const read = ops.reduce((sum, row) => sum + row.bytes, 0);
  return (
    <>
      <WhereCard />
      {slice < 0 ? null : <Instruction profile={profile} slice={slice} onNode={onNode} />}
      <h2 className={styles["title"]}>{stepTitle(profile, step)}</h2>
      <Card title={timeText(profile, totalOf(sums))} aside={<TruthMark truth={profile.truth} />}>
        <Facts rows={sums.slice(0, SHOWN).map((row) => [row.name, timeText(row, row.seconds)] as const)} />
        {sums.length > SHOWN ? <Note>And {plural(sums.length - SHOWN, "other op")}.</Note> : null}
      </Card>
      {read === 0 ? null : (
        <Card title="Memory read">
          <Facts
            rows={[
              ["bytes", bytes(read)],
              ["per second", `${bytes(read / Math.max(1e-9, known))}/s`],
              ...(profile.peakBandwidth === null
                ? []
                : ([
                    ["of peak bandwidth", peakWord(read / Math.max(1e-9, known) / profile.peakBandwidth.value)],
                  ] as const)),
            ]}
          />
        </Card>
      )}
    </>
  );
}

interface InstructionProps extends ProfileInspectorProps {
  readonly profile: ProfileView;
  readonly slice: number;
}

/** At most this many are listed. */
const SHOWN_NODES = 6;

function Instruction({ profile, slice, onNode }: InstructionProps): ReactNode {
  const graph = useProfile((s) => current(s.graph));
  const nodes = useMemo(
    () => (graph === null ? [] : nodesOfSlice(profile, slice, graph.view.nodes.id)),
    [profile, slice, graph],
  );
  const piece = slicePiece(profile, slice);
  return (
    <Card title="One instruction" aside={<TruthMark truth={piece.truth} />}>
      <Facts
        rows={[
          ["op", piece.op],
          ["where", piece.label],
          ["time", timeText(piece, piece.seconds)],
          ...(piece.bytes === 0 ? [] : ([["bytes", bytes(piece.bytes)]] as const)),
        ]}
      />
      {graph === null || nodes.length === 0 ? null : (
        <ul className={styles["nodes"]} aria-label="In the graph">
          {nodes.slice(0, SHOWN_NODES).map((node) => (
            <li key={node}>
              <button type="button" className={styles["link"]} title="Show in the graph" onClick={() => onNode(node)}>
                {opName(graph.view, node)} {nodeName(graph.view, node)}
              </button>
            </li>
          ))}
          {nodes.length > SHOWN_NODES ? <li>and {plural(nodes.length - SHOWN_NODES, "other op")}</li> : null}
        </ul>
      )}
      <Note>
        {nodes.length === 0 ? "No op of the graph matches it alone. " : ""}Ops that were fused share one time; it is not
        split up.
      </Note>
    </Card>
  );
}
