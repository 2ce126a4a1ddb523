/**
 * A group, or the blocks of a folded stack in sum: devices, why work leaves the Neural Engine, contents, and how it compares
 * with its siblings, or which blocks of the stack are unlike the others.
 */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { deviceOf } from "../../../main/contract/views/common.ts";
import type { Device } from "../../../main/contract/views/common.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { groupName, groupPath, nodeWeight, opName, isOp } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { plural, predictedSeconds, share } from "../../ui/format.ts";
import { DeviceChip, TruthMark } from "../../ui/marks.tsx";
import type { InspectorLinks } from "./links.ts";
import styles from "./Inspector.module.css";

interface Summary {
  readonly ops: ReadonlyMap<string, number>;
  readonly weights: ReadonlyMap<string, number>;
  readonly devices: ReadonlyMap<Device, { readonly ops: number; readonly work: number }>;
  readonly reasons: ReadonlyMap<string, { readonly device: Device; readonly ops: number }>;
  readonly work: number;
}

/** Sums up the nodes inside groups, however deep. */
export function summarise(model: GraphModel, groups: readonly number[], route: RouteView | null): Summary {
  const wanted = new Set(groups);
  const { view } = model;
  const ops = new Map<string, number>();
  const weights = new Map<string, number>();
  const devices = new Map<Device, { ops: number; work: number }>();
  const reasons = new Map<string, { device: Device; ops: number }>();
  let work = 0;
  for (let node = 0; node < view.nodeCount; node++) {
    if (!groupPath(view, view.nodes.group[node] ?? 0).some((group) => wanted.has(group))) continue;
    if (model.hidden[node] === 1) {
      const type = nodeWeight(view, node);
      if (type !== "") weights.set(type, (weights.get(type) ?? 0) + 1);
      continue;
    }
    if (!isOp(view, node)) continue;
    ops.set(opName(view, node), (ops.get(opName(view, node)) ?? 0) + 1);
    const device = deviceOf(route?.nodes.device[node] ?? 0);
    if (route === null || device === "none") continue;
    const share = route.nodes.work[node] ?? 0;
    work += share;
    const row = devices.get(device) ?? { ops: 0, work: 0 };
    devices.set(device, { ops: row.ops + 1, work: row.work + share });
    for (const [reason, where] of reasonsOf(route, node))
      if (where !== "ane") reasons.set(reason, { device: where, ops: (reasons.get(reason)?.ops ?? 0) + 1 });
  }
  return { ops, weights, devices, reasons, work };
}

/** Why an op, or each part of one that became several operations, is where it is. */
function reasonsOf(route: RouteView, node: number): ReadonlyMap<string, Device> {
  const { groups = [] } = route.lowerings[route.nodes.lowering[node] ?? 0] ?? {};
  if (groups.length > 0) return new Map(groups.map(({ rule, device }) => [rule.sentence, device]));
  const reason = route.strings[route.nodes.reason[node] ?? 0] ?? "";
  return reason === "" ? new Map() : new Map([[reason, deviceOf(route.nodes.device[node] ?? 0)]]);
}

/** Reasons that are shown. */
const REASONS = 4;

const mostFirst = (reasons: Summary["reasons"]): readonly (readonly [string, { readonly device: Device }])[] =>
  [...reasons].sort(([, a], [, b]) => b.ops - a.ops).slice(0, REASONS);

export interface GroupCardsProps extends Pick<InspectorLinks, "model" | "noteOf" | "stackOf" | "onGroup"> {
  readonly group: number;
}

export function GroupCards({ group, model, noteOf, stackOf, onGroup }: GroupCardsProps): ReactNode {
  const route = useSession((state) => current(state.routes[state.phase]));
  const fitting = model !== null && route !== null && route.nodes.device.length === model.view.nodeCount ? route : null;
  const stacked = stackOf(group).join();
  const summary = useMemo(
    () => (model === null ? null : summarise(model, stacked.split(",").map(Number), fitting)),
    [model, stacked, fitting],
  );
  if (model === null || summary === null || group >= model.view.groups.parent.length) return null;
  const { view } = model;
  const step = fitting?.step.value ?? 0;
  const blocks = stacked.split(",").map(Number);
  const path = groupPath(view, group)
    .slice(1)
    .map((each) => groupName(view, each));
  const note = blocks.length > 1 ? "" : noteOf(group);
  const byCount = (rows: ReadonlyMap<string, number>): readonly (readonly [string, string])[] =>
    [...rows].sort((a, b) => b[1] - a[1]).map(([name, n]) => [name, String(n)] as const);
  return (
    <>
      <h2 className={styles["title"]}>
        {blocks.length > 1
          ? `${groupName(view, group)} to ${groupName(view, blocks.at(-1) ?? group)}, ${plural(blocks.length, "block")} in sum`
          : path.join(" · ")}
      </h2>
      <Card title="Why here?" aside={fitting === null ? undefined : <TruthMark truth={fitting.truth} />}>
        {fitting === null ? <p>There is no route for this stage.</p> : null}
        {[...summary.devices].map(([device, row]) => (
          <p key={device} className={styles["chips"]}>
            <DeviceChip device={device} />
            <span>
              {plural(row.ops, "op")}, {predictedSeconds(row.work * step)}
            </span>
          </p>
        ))}
        {mostFirst(summary.reasons).map(([reason, { device }]) => (
          <Note key={reason}>
            {device.toUpperCase()}: {reason}
          </Note>
        ))}
        {fitting !== null && summary.reasons.size === 0 && summary.devices.has("ane") ? (
          <Note>Every rule allows the Neural Engine for all of it.</Note>
        ) : null}
      </Card>
      {note === "" ? null : (
        <Card title="Differs from the others">
          <p>{note}</p>
        </Card>
      )}
      {blocks.length > 1 ? <OddBlocks model={model} blocks={blocks} noteOf={noteOf} onGroup={onGroup} /> : null}
      <Card
        title={blocks.length > 1 ? "What they do" : "What it does"}
        aside={plural(
          [...summary.ops.values()].reduce((a, b) => a + b, 0),
          "op",
        )}
      >
        <Facts rows={byCount(summary.ops)} />
        {fitting === null ? null : (
          <Note>
            {predictedSeconds(summary.work * step)}, {share(summary.work)} of the step.
          </Note>
        )}
      </Card>
      {summary.weights.size === 0 ? null : (
        <Card title="Came from">
          <Facts rows={byCount(summary.weights).map(([type, n]) => [`${type.toUpperCase()} tensors`, n] as const)} />
        </Card>
      )}
    </>
  );
}

/** Kinds of differences that are shown. */
const DIFFERENCES = 8;

export interface Difference {
  readonly note: string;
  readonly blocks: readonly number[];
}

/** Blocks that differ in the same way stand together, the most first. */
export function differences(blocks: readonly number[], noteOf: (block: number) => string): readonly Difference[] {
  const found = new Map<string, number[]>();
  for (const block of blocks) {
    const note = noteOf(block);
    if (note !== "") found.set(note, [...(found.get(note) ?? []), block]);
  }
  return [...found].map(([note, odd]) => ({ note, blocks: odd })).sort((a, b) => b.blocks.length - a.blocks.length);
}

interface OddBlocksProps extends Pick<InspectorLinks, "noteOf" | "onGroup"> {
  readonly model: GraphModel;
  readonly blocks: readonly number[];
}

function OddBlocks({ model, blocks, noteOf, onGroup }: OddBlocksProps): ReactNode {
  const odd = differences(blocks, noteOf);
  const unlike = odd.reduce((sum, each) => sum + each.blocks.length, 0);
  if (unlike === 0)
    return (
      <Card title="Blocks that differ">
        <Note>None: all of them are alike.</Note>
      </Card>
    );
  return (
    <Card title="Blocks that differ" aside={`${unlike} of ${blocks.length}`}>
      {odd.slice(0, DIFFERENCES).map(({ note, blocks: same }) => (
        <div key={note} className={styles["odd"]}>
          <p>{note}</p>
          <p>
            {same.map((block) => (
              <button key={block} type="button" onClick={() => onGroup(block)}>
                {groupName(model.view, block)}
              </button>
            ))}
          </p>
        </div>
      ))}
      {odd.length > DIFFERENCES ? <Note>{plural(odd.length - DIFFERENCES, "other difference")}.</Note> : null}
    </Card>
  );
}
