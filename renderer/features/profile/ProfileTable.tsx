/** The table of a recording, of the whole or of a selection: a row leads to its slowest instruction, a head sorts. */
import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import type { Phase } from "../../../main/contract/recordings/sums.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { sliceHook } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { count, fineShare, share, significant } from "../../ui/format.ts";
import { DeviceChip, Meter, TruthMark } from "../../ui/marks.tsx";
import table from "../../ui/table.module.css";
import type { ProfileSlice } from "./slice.ts";
import { slowestSlice } from "./slices.ts";
import type { Grouping, SortKey, Sorting, TableRow } from "./tableRows.ts";
import { matches, scopeOf, tableRows } from "./tableRows.ts";
import { timeText } from "./timelineText.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();

export interface ProfileTableProps {
  readonly profile: ProfileView;
  readonly phase: Phase;
  readonly selection: Selection | null;
  readonly grouping: Grouping;
}

interface Column {
  readonly key: SortKey;
  readonly text: string;
  readonly hint: string;
}

const HEADS: { readonly [G in Grouping]: string } = {
  op: "operation",
  layer: "layer",
  "bottom-up": "operation, layer, instruction",
};

function columnsOf(phase: Phase, isSelection: boolean, hasBandwidth: boolean): readonly Column[] {
  const one = phase === "decode" && !isSelection;
  return [
    { key: "count", text: "count", hint: one ? "Of one typical token" : "How many" },
    {
      key: "seconds",
      text: isSelection ? "sum" : one ? "time, one token" : "time",
      hint: isSelection ? "The time of it inside the selection" : "Together",
    },
    ...(isSelection
      ? ([
          { key: "mean", text: "mean", hint: "Of one of them" },
          { key: "min", text: "min", hint: "The shortest of them" },
          { key: "max", text: "max", hint: "The longest of them" },
        ] as const)
      : []),
    ...(hasBandwidth
      ? ([{ key: "bandwidth", text: "GB/s", hint: "Bytes that it reads and writes, by its time" }] as const)
      : []),
  ];
}

export function ProfileTable({ profile, phase, selection, grouping }: ProfileTableProps): ReactNode {
  const [sorting, setSorting] = useState<Sorting>({ key: "seconds", descends: true });
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const chosenSlice = useProfile((s) => s.profileSlice);
  const chooseSlice = useProfile((s) => s.chooseSlice);
  const scope = useMemo(() => scopeOf(profile, phase, selection), [profile, phase, selection]);
  const rows = useMemo(
    () => tableRows(profile, { scope, grouping, sorting, open }),
    [profile, scope, grouping, sorting, open],
  );
  const chosen = profile.strings[profile.slices.op[chosenSlice] ?? 0];
  const hasDevices = rows.some(({ device }) => device !== rows[0]?.device);
  const hasTruths = rows.some(({ truth }) => truth !== "measured");
  const isSelection = selection !== null;
  const hasBandwidth = profile.peakBandwidth !== null && grouping !== "layer" && !isSelection;
  const columns = columnsOf(phase, isSelection, hasBandwidth);
  const toggle = (id: string): void => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const head = (key: SortKey, text: string, hint?: string): ReactNode => (
    <th
      key={key}
      aria-sort={sorting.key === key ? (sorting.descends ? "descending" : "ascending") : "none"}
      title={hint}
    >
      <button
        type="button"
        className={styles["sort"]}
        onClick={() => setSorting({ key, descends: sorting.key === key ? !sorting.descends : key !== "name" })}
      >
        {text}
        <i aria-hidden="true">{sorting.key === key ? (sorting.descends ? " ↓" : " ↑") : ""}</i>
      </button>
    </th>
  );
  const cell = (row: TableRow, key: SortKey): string => {
    if (key === "count") return Number.isInteger(row.count) ? count(row.count) : significant(row.count);
    if (key === "bandwidth")
      return row.bandwidth === null || row.peak.kind === "none" ? "–" : significant(row.bandwidth / 1e9);
    return key === "name" ? row.name : timeText(row, row[key]);
  };
  return (
    <>
      <div className={styles["rows"]} tabIndex={0} role="region" aria-label="By operation, table">
        <table className={table["table"]}>
          <thead>
            <tr>
              {head("name", HEADS[grouping])}
              {hasDevices ? <th className={table["left"]}>device</th> : null}
              {hasTruths ? <th className={table["left"]}>how known</th> : null}
              {columns.map(({ key, text, hint }) => head(key, text, hint))}
              <th title={isSelection ? "Of the time in the selection" : "Of the whole, JavaScript included"}>
                {isSelection ? "share" : phase === "decode" ? "of a token" : "of the prompt"}
              </th>
              {hasBandwidth ? <th className={cx(table["left"], styles["peak"])}>of peak bandwidth</th> : null}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr
                key={row.id}
                data-chosen={row.kind === "op" && row.name === chosen && grouping !== "layer"}
                onClick={() => {
                  if (row.kind === "op") chooseSlice(slowestSlice(profile, scope, matches(row, grouping)));
                }}
              >
                <td className={table["text"]} style={{ paddingLeft: 10 + 18 * (row.path.length - 1) }}>
                  {row.opens ? (
                    <button
                      type="button"
                      className={styles["twist"]}
                      aria-expanded={open.has(row.id)}
                      aria-label={`Layers and instructions of ${row.name}`}
                      onClick={(event) => {
                        event.stopPropagation();
                        toggle(row.id);
                      }}
                    >
                      {open.has(row.id) ? "▾" : "▸"}
                    </button>
                  ) : null}
                  {/* The row has the click; the button is for the keyboard. */}
                  {row.kind === "op" ? (
                    <button type="button" className={styles["link"]} title="Select the slowest of them">
                      {row.name}
                    </button>
                  ) : (
                    row.name
                  )}
                </td>
                {hasDevices ? (
                  <td className={table["left"]}>
                    <DeviceChip device={row.device} />
                  </td>
                ) : null}
                {hasTruths ? (
                  <td className={table["left"]}>
                    <TruthMark truth={row.truth} />
                  </td>
                ) : null}
                {columns.map(({ key }) => (
                  <td key={key}>{cell(row, key)}</td>
                ))}
                <td>{fineShare(row.share)}</td>
                {hasBandwidth ? <PeakCell row={row} /> : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {hasBandwidth && rows.some(({ peak }) => peak.kind === "cache") ? (
        <p className={styles["below"]}>
          From cache: faster than memory, because these weights are small enough to stay in the processor’s cache from
          token to token.
        </p>
      ) : null}
    </>
  );
}

function PeakCell({ row: { peak } }: { readonly row: TableRow }): ReactNode {
  return (
    <td className={styles["peak"]}>
      {peak.kind === "none" ? null : peak.kind === "cache" ? (
        <span className={styles["cache"]} title={`${significant(peak.value)} × what memory gives`}>
          from cache
        </span>
      ) : (
        <div className={styles["meter"]}>
          <Meter value={peak.value} label="Share of peak bandwidth" />
          <span>{share(peak.value)}</span>
        </div>
      )}
    </td>
  );
}
